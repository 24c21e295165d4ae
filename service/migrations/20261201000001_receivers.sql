-- Who receives a message: the host of its URL, in one spelling. So much is sent to one at a time.
ALTER TABLE delivery ADD COLUMN receiver TEXT NOT NULL DEFAULT '';

-- What was written down before has a receiver for each URL.
UPDATE delivery SET receiver = url;
