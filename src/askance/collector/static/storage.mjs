// Whether this browser keeps what a page gives it.

export function storageWorks() {
  try {
    localStorage.setItem("askance.test", "1");
    const works = localStorage.getItem("askance.test") === "1";
    localStorage.removeItem("askance.test");
    return works;
  } catch {
    return false;
  }
}
