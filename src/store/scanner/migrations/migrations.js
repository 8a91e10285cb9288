import m0000 from "./0000_initial.sql";
import m0001 from "./0001_families.sql";
import m0002 from "./0002_memos_and_turns.sql";
import m0003 from "./0003_fewer_rows.sql";
import journal from "./meta/_journal.json";

export default {
  journal,
  migrations: {
    m0000,
    m0001,
    m0002,
    m0003,
  },
};
