-- Who may ask. Their secrets follow from the key in the file of keys, and are kept nowhere.
CREATE TABLE learners (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;
-- A request is written down before it is paid for, and its release before it is sent: whoever asks again, with the same
-- request, gets the same release and pays nothing.
CREATE TABLE requests (
    learner TEXT NOT NULL,
    request TEXT NOT NULL,
    body TEXT NOT NULL,
    release TEXT,
    PRIMARY KEY (learner, request)
) WITHOUT ROWID;
