// The law of a report: integers out of 2^62, compared with 62 random bits. The same as draw_report in law.py.

export const RESOLUTION = 1n << 62n;
export const RANDOM_BYTES = 8;

// Whether counts (decimal strings) are a law: none is negative, and they add up to 2^62.
export function isLaw(counts) {
  if (!Array.isArray(counts) || !counts.every((count) => typeof count === "string" && /^[0-9]+$/.test(count))) {
    return false;
  }
  return counts.reduce((sum, count) => sum + BigInt(count), 0n) === RESOLUTION;
}

// The report that eight bytes choose: the first o with u < counts[0] + ... + counts[o].
export function drawReport(counts, bytes) {
  if (!isLaw(counts) || bytes.length !== RANDOM_BYTES) {
    throw new Error("counts that do not add up to 2^62, or another number of bytes");
  }
  let u = 0n;
  for (let i = RANDOM_BYTES - 1; i >= 0; i -= 1) {
    u = (u << 8n) | BigInt(bytes[i]);
  }
  u >>= 2n;
  let below = 0n;
  for (let report = 0; report < counts.length; report += 1) {
    below += BigInt(counts[report]);
    if (u < below) {
      return report;
    }
  }
  throw new Error("unreachable: u is below 2^62");
}

// A report drawn with the browser's source of random numbers for secrets.
export function draw(counts) {
  return drawReport(counts, crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
}
