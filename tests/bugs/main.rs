//! One file a bug that the fuzzers of `fuzz/` found, with the least that shows it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../../fuzz/src/lib.rs"]
mod targets;

mod a_footer_counts_more_keys_than_its_file_can_hold;
mod a_log_of_a_store_without_stamps_has_times;
mod a_manifest_names_a_file_twice;
mod a_manifest_names_more_bytes_than_there_can_be;
mod a_number_cannot_be_counted_on_from;
mod a_reader_takes_logs_that_do_not_follow;
mod a_record_replaces_what_there_is_not;
mod a_repair_makes_a_store_that_cannot_be_opened;
mod a_repair_takes_an_old_segment_for_a_new_one;
mod a_repair_takes_milliseconds_for_seconds;
mod a_repair_takes_tombstones_for_times;
mod a_segment_of_a_store_without_stamps_has_times;
mod a_store_without_stamps_counts_a_key_twice;
mod a_time_has_more_than_48_bits;
mod support;
