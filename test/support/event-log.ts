/** A tenant's whole log as one table, for whoever looks into its database: `FROM ${EVENT_LOG}`. */
export const EVENT_LOG = `(
  SELECT sequence, id, type, subject, subject_sequence, body, created_at FROM events
  UNION ALL
  SELECT json_extract(e.value, '$.sequence'), json_extract(e.value, '$.id'), json_extract(e.value, '$.type'),
    json_extract(e.value, '$.subject'), json_extract(e.value, '$.subject_sequence'), e.value, created_at
  FROM deposit_events, json_each(bodies) AS e
)`;
