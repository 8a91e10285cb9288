import m0000 from "./0000_initial.sql";
import m0001 from "./0001_withdrawals.sql";
import m0002 from "./0002_secrets_and_health.sql";
import m0003 from "./0003_endpoint_targets.sql";
import m0004 from "./0004_families.sql";
import m0005 from "./0005_expiring.sql";
import m0006 from "./0006_memos_and_turns.sql";
import m0007 from "./0007_sessions.sql";
import m0008 from "./0008_audit_log.sql";
import m0009 from "./0009_tallies.sql";
import m0010 from "./0010_fewer_rows.sql";
import m0011 from "./0011_incidents.sql";
import journal from "./meta/_journal.json";

export default {
  journal,
  migrations: {
    m0000,
    m0001,
    m0002,
    m0003,
    m0004,
    m0005,
    m0006,
    m0007,
    m0008,
    m0009,
    m0010,
    m0011,
  },
};
