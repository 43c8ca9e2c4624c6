//! Expansion snapshots (`UPDATE_EXPECT=1 cargo test -p oxidax-macros` writes them anew), and the fixtures of
//! `ui-tests/fail`: each must break the rule it is named after.

mod fixtures;
mod snapshots;
