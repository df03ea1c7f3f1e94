//! Changes of one place each that break a promise.
#![allow(unreachable_pub, reason = "one test uses it")]

/// One of them.
#[derive(Debug)]
pub struct Mutation {
    /// What is broken.
    pub breaks: &'static str,
    pub file: &'static str,
    /// Occurs in the file exactly once.
    pub old: &'static str,
    pub new: &'static str,
    /// Tests of which at least one must fail.
    pub caught_by: &'static [&'static str],
}

const CUTS: &str = "a_power_cut_leaves_a_prefix_with_all_that_was_synced";
const FAULTS: &str = "a_failure_of_the_disk_is_told_and_survived";
const ANY_FAULT: &str = "a_fault_in_any_operation_is_told_and_survived";
const DAMAGE: &str = "damage_is_never_taken_for_absence";
const ONCE: &str = "a_url_is_new_exactly_once";
const IMMEDIATE: &str = "immediate_answers_only_what_is_durable";
const MODEL: &str = "a_store_answers_as_a_map_does";
const SYNCS: &str = "what_a_failed_sync_lost_is_not_relied_on";
const COUNT: &str = "a_count_is_exact_whatever_expires_in_a_merge";
const RATE: &str = "the_rate_holds_as_a_store_grows";
const CLAIMED: &str = "a_url_is_claimed_by_one_at_a_time";
const EXPIRED: &str = "an_expired_url_is_new_exactly_once";
const FORGOTTEN: &str = "forgetting_gives_the_room_back";
const LIB: &str = "--lib";

const fn mutation(
    breaks: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
    caught_by: &'static [&'static str],
) -> Mutation {
    Mutation {
        breaks,
        file,
        old,
        new,
        caught_by,
    }
}

pub const ALL: &[Mutation] = &[
    mutation(
        "no directory sync after the manifest's rename",
        "src/manifest.rs",
        "        vfs.sync_dir(dir)\n            .map_err(|e| SaveError::Unknown(",
        "        Ok(())\n            .map_err(|e: std::io::Error| SaveError::Unknown(",
        &[CUTS],
    ),
    mutation(
        "the manifest is not synced before its rename",
        "src/manifest.rs",
        "        file.sync().map_err(|e| Error::io(\"sync\", path, e))?;\n        Ok(file)",
        "        Ok(file)",
        &[CUTS],
    ),
    mutation(
        "the manifest is written in place",
        "src/manifest.rs",
        "        let temporary = dir.join(TEMPORARY);",
        "        let temporary = path.clone();",
        &[CUTS],
    ),
    mutation(
        "a log is deleted before the manifest without it is durable",
        "src/store/flush.rs",
        "                self.swap_in(writer, frozen, run.as_ref())?;",
        "                let gone = self.dir.join(crate::log::file_name(frozen.log));\n                \
         let _ = self.options.env.vfs.remove(&gone);\n                \
         self.swap_in(writer, frozen, run.as_ref())?;",
        &[CUTS],
    ),
    mutation(
        "the inputs of a merge are deleted before its output is in force",
        "src/store/merging.rs",
        "        self.edit(writer, &mut live, |manifest| {\n            manifest.runs =",
        "        for segment in inputs.iter().flat_map(|run| &run.segments) {\n            \
         let name = crate::segment::file_name(segment.meta().number);\n            \
         let _ = self.options.env.vfs.remove(&self.dir.join(name));\n        }\n        \
         self.edit(writer, &mut live, |manifest| {\n            manifest.runs =",
        &[CUTS],
    ),
    mutation(
        "a segment is not synced",
        "src/segment/writer.rs",
        "        self.file\n            .sync()\n            .map_err(|e| Error::io(\"sync\", &self.path, e))?;",
        "",
        &[CUTS],
    ),
    mutation(
        "the names of new files are not synced",
        "src/store/core.rs",
        "        self.options.env.vfs.sync_dir(&self.dir).map_err(|e| {",
        "        Ok(()).map_err(|e| {",
        &[CUTS],
    ),
    mutation(
        "the name of a new store is not synced",
        "src/store/open.rs",
        "            sync_parents(&*vfs, dir)?;",
        "",
        &[CUTS],
    ),
    mutation(
        "leftovers are removed before the manifest is surely in force",
        "src/store/open.rs",
        "    if superseded.peek().is_some() {",
        "    if superseded.peek().is_none() {",
        &["names_are_durable_before_anything_rests_on_them", SYNCS],
    ),
    mutation(
        "a failed fsync of a log is ignored",
        "src/store/syncer.rs",
        "            let outcome = target.file.sync();",
        "            let outcome = target.file.sync().or(Ok::<(), std::io::Error>(()));",
        &[FAULTS],
    ),
    mutation(
        "a failed fsync of a log is tried again",
        "src/store/syncer.rs",
        "            let outcome = target.file.sync();",
        "            let outcome = target.file.sync().or_else(|_| target.file.sync());",
        &[FAULTS],
    ),
    mutation(
        "a failure does not poison",
        "src/store/syncer.rs",
        "        let cause = self.poison.get_or_init(|| cause).clone();",
        "",
        &[FAULTS],
    ),
    mutation(
        "a log is not synced before its successor accepts a frame",
        "src/store/commit.rs",
        "        writer.syncer.sync_to(&point)?;\n\n        let frozen",
        "        let frozen",
        &[CUTS],
    ),
    mutation(
        "a log's final length is not recorded",
        "src/store/commit.rs",
        "                log.length = Some(end);",
        "                let _ = end;",
        &[MODEL, CUTS],
    ),
    mutation(
        "a torn frame is accepted",
        "src/log/reader.rs",
        "                        if let Some(reason) = self.judge(frame, sequence) {",
        "                        if let Some(reason) = self.judge(frame, sequence).filter(|_| false) {",
        &[CUTS, LIB],
    ),
    mutation(
        "a frame's checksum is not compared",
        "src/log/mod.rs",
        "        (stored != computed).then_some((stored, computed))",
        "        (stored != computed).then_some((stored, computed)).filter(|_| false)",
        &[CUTS, LIB],
    ),
    mutation(
        "a frame's sequence number is not compared",
        "src/log/reader.rs",
        "        (sequence != self.next_sequence).then(|| {",
        "        (sequence == u64::MAX).then(|| {",
        &[CUTS, LIB],
    ),
    mutation(
        "damage in the synced part of a log is taken for its end",
        "src/log/behind.rs",
        "                    return Ok(Behind::Synced);",
        "                    continue;",
        &[DAMAGE, LIB],
    ),
    mutation(
        "a read error is taken for the end of a log",
        "src/log/reader.rs",
        "            let chunk = self.chunk(self.offset, want, end)?;",
        "            let Ok(chunk) = self.chunk(self.offset, want, end) else {\n                return Ok(None);\n            };",
        &[FAULTS, ANY_FAULT],
    ),
    mutation(
        "a batch is several frames",
        "src/store/commit.rs",
        "        let appended = log.append(frame.seconds, frame.position, |body| {",
        "        for entry in commit.appender.since(before) {\n            \
         let _ = log.append(frame.seconds, None, |body| body.put(entry.key, entry.record));\n        }\n        \
         let appended = log.append(frame.seconds, frame.position, |body| {",
        &[CUTS],
    ),
    mutation(
        "a block's checksum is not compared",
        "src/segment/reader.rs",
        "        if stored == computed {\n            return Ok(());",
        "        if stored == computed || !bytes.is_empty() {\n            return Ok(());",
        &[DAMAGE, LIB],
    ),
    mutation(
        "a header's checksum is not compared",
        "src/header.rs",
        "        crc_fits = stored == computed;",
        "        crc_fits = true;",
        &[DAMAGE, LIB],
    ),
    mutation(
        "a file of another store is taken",
        "src/header.rs",
        "        if self.store != store {",
        "        if self.store != store && number == u64::MAX {",
        &[DAMAGE, LIB],
    ),
    mutation(
        "a memtable is dropped before its segment is visible",
        "src/store/flush.rs",
        "        self.edit(writer, &mut live, |manifest| {\n            manifest.counts",
        "        self.change_view(|view| View {\n            frozen: without(&view.frozen, frozen),\n            \
         ..view.clone()\n        });\n        \
         self.edit(writer, &mut live, |manifest| {\n            manifest.counts",
        &[ONCE, FAULTS],
    ),
    mutation(
        "an insert does not look again for a memtable that was frozen meanwhile",
        "src/store/commit.rs",
        "        if commit.rotation != rotation {\n            return Ok(false);",
        "        if commit.rotation < rotation {\n            return Ok(false);",
        &[ONCE],
    ),
    mutation(
        "an insert does not look again for what others inserted meanwhile",
        "src/memtable/appender.rs",
        "        let bytes = self.tail.bytes();\n        let tag",
        "        let bytes: &[u8] = &[];\n        let tag",
        &[ONCE, LIB],
    ),
    mutation(
        "an entry is visible before it is in the log",
        "src/store/commit.rs",
        "        let staged = staged.and_then(|staged| {",
        "        commit.appender.memtable().publish(commit.appender.mark());\n        let staged = staged.and_then(|staged| {",
        &[FAULTS],
    ),
    mutation(
        "an answer rests on an entry that is not durable",
        "src/store/commit.rs",
        "        let point = commit.point();\n        drop(commit);",
        "        commit.appender.memtable().publish(commit.appender.mark());\n        \
         let point = commit.point();\n        drop(commit);",
        &[IMMEDIATE],
    ),
    mutation(
        "an operation returns while an earlier frame is unfinished",
        "src/log/writer.rs",
        "        match self.file.set_len(self.end) {\n            Ok(()) => Err(AppendError::CutBack(error)),",
        "        match Ok::<(), std::io::Error>(()) {\n            Ok(()) => {\n                \
         self.end += ALIGN as u64;\n                Err(AppendError::CutBack(error))\n            }",
        &[FAULTS],
    ),
    mutation(
        "what a failed append had put into the memtable stays there",
        "src/store/commit.rs",
        "            commit.appender.take_back(before, |key| self.hash(key));",
        "            let _ = before;",
        &[FAULTS],
    ),
    mutation(
        "an unknown manifest counts as unchanged",
        "src/manifest.rs",
        "            .map_err(|e| SaveError::Unknown(Error::io(\"rename to\", &path, e)))?;",
        "            .map_err(|e| SaveError::Unchanged(Error::io(\"rename to\", &path, e)))?;",
        &[FAULTS],
    ),
    mutation(
        "what a failed sync may have lost of a log is not written again",
        "src/store/recover.rs",
        "        write_all_at(&*file, bytes, at).map_err(|e| Error::io(\"write to\", &path, e))?;",
        "        let _ = (write_all_at, &file);",
        &[SYNCS],
    ),
    mutation(
        "a reader tries a failed sync again",
        "src/store/replay.rs",
        "        if self.unsynced.is_none() {",
        "        if self.unsynced.take().is_none() {",
        &[SYNCS],
    ),
    mutation(
        "the position is lost with its log",
        "src/store/flush.rs",
        "            manifest.position = frozen.position.or(manifest.position);",
        "",
        &["a_position_never_goes_back", CUTS],
    ),
    mutation(
        "an older run's record wins",
        "src/compact/merged.rs",
        "            .then(a.cmp(&b))",
        "            .then(b.cmp(&a))",
        &[LIB],
    ),
    mutation(
        "a merge goes on after a read error",
        "src/compact/merged.rs",
        "        if !self.sources[self.heap[at]].advance()? {",
        "        if !self.sources[self.heap[at]].advance().unwrap_or(false) {",
        &[LIB],
    ),
    mutation(
        "readers lose a version that is being replaced",
        "src/memtable/appender.rs",
        "        if ((before & PLACE) as usize) <= memtable.bytes() {",
        "        if ((before & PLACE) as usize) <= memtable.bytes() && key.is_empty() {",
        &[LIB],
    ),
    mutation(
        "a version is replaced that is not durable yet",
        "src/memtable/appender.rs",
        "                    let hidden = place < batch.len && place >= self.memtable.bytes();",
        "                    let hidden = place < batch.len && place >= usize::MAX;",
        &[LIB],
    ),
    mutation(
        "a log does not say what a record replaces",
        "src/store/transaction.rs",
        "            write(&stored, current.and_then(Stored::kind), &mut record);",
        "            write(&stored, None, &mut record);",
        &[CUTS],
    ),
    mutation(
        "what comes back during a merge is not counted again",
        "src/store/expire.rs",
        "            if counted {",
        "            if counted && self.stamps && !self.stamps {",
        &[COUNT],
    ),
    mutation(
        "a merge counts as gone what has a newer version",
        "src/store/expire.rs",
        "Ok(newer) => !newer,",
        "Ok(newer) => !newer || newer,",
        &[COUNT],
    ),
    mutation(
        "a batch's own time decides what a merge has counted",
        "src/store/transaction.rs",
        "let latest = terms.now.max(self.now());",
        "let latest = terms.now;",
        &[COUNT],
    ),
    mutation(
        "a version that expired uncovers an older one",
        "src/compact/purge.rs",
        "true => (Fate::Buried, true),",
        "true => (Fate::Dropped, true),",
        &[EXPIRED],
    ),
    mutation(
        "a tombstone goes although an older run has its key",
        "src/compact/purge.rs",
        "Stored::Forgotten if self.may_hold(key) => Fate::Kept,",
        "Stored::Forgotten if self.may_hold(key) => Fate::Dropped,",
        &[FORGOTTEN],
    ),
    mutation(
        "tombstones stay for ever",
        "src/compact/purge.rs",
        "Stored::Forgotten => Fate::Dropped,",
        "Stored::Forgotten => Fate::Kept,",
        &[FORGOTTEN],
    ),
    mutation(
        "a claim is granted a second early",
        "src/store/decide.rs",
        "(from <= now || !is_clock) && now < until",
        "(from <= now || !is_clock) && now + 1 < until",
        &[CLAIMED],
    ),
    mutation(
        "a lease that was lost can be settled",
        "src/store/decide.rs",
        "if *token != given {",
        "if *token != given && given.epoch == u64::MAX {",
        &[CLAIMED],
    ),
    mutation(
        "tokens come again after a restart",
        "src/store/claim.rs",
        "live.manifest.epoch.saturating_add(1)",
        "live.manifest.epoch.max(1)",
        &[CLAIMED],
    ),
    mutation(
        "a repair reads what a merge was made of beside its output",
        "src/store/repair/order.rs",
        "        if complete.covers_run(&run) || run.is_needless(&numbers) {",
        "        if run.is_needless(&numbers) {",
        &["repair_brings_back_nothing_that_was_forgotten"],
    ),
    mutation(
        "a repair without a manifest gives tokens again",
        "src/store/repair/mod.rs",
        "            leave_epochs_out(&mut manifest);",
        "            let _ = leave_epochs_out;",
        &["repair_gives_no_token_twice"],
    ),
    mutation(
        "a filter's checksum is not compared",
        "src/segment/part.rs",
        "    if computed != part.crc {",
        "    if computed != part.crc && name != \"a filter\" {",
        &["a_damaged_filter_is_never_a_no"],
    ),
    mutation(
        "a filter says no to a key that it was given",
        "src/filter/blocked.rs",
        "        all & 1 == 1",
        "        all & 1 == 1 && hash & 0xfff != 7",
        &[LIB],
    ),
    mutation(
        "a dictionary's checksum is not compared",
        "src/segment/part.rs",
        "    if stored != computed {",
        "    if stored != computed && covered.is_empty() {",
        &[DAMAGE, LIB],
    ),
    mutation(
        "a repair does without the second dictionary",
        "src/segment/remains.rs",
        "            (Err(damage), Some(again)) => {",
        "            (Err(damage), Some(again)) if again.len == 0 => {",
        &["repair_salvages_every_intact_entry"],
    ),
    mutation(
        "lanes of a vector behind the last entry count",
        "src/vector.rs",
        ".trailing_zeros() as usize).min(left);",
        ".trailing_zeros() as usize).min(LANES);",
        &[LIB],
    ),
    mutation(
        "a scan in vectors reads behind its list",
        "src/vector.rs",
        "if self.bytes.len() < self.entries * Self::WIDTH + LANES {",
        "if self.bytes.len() < self.entries * Self::WIDTH {",
        &[LIB],
    ),
    mutation(
        "zeros behind a key pass for bytes of it",
        "src/segment/packed/strings.rs",
        "            if at > probe.len() {",
        "            if at > probe.len() + 16 {",
        &[LIB],
    ),
    mutation(
        "the first key of a block is not coded anew",
        "src/segment/block/build.rs",
        "        first.shared = 0;",
        "",
        &[LIB],
    ),
    mutation(
        "a search starts behind more of a first key than its separator covers",
        "src/segment/block/mod.rs",
        "    let Some(most) = separator.checked_sub(1) else {",
        "    let Some(most) = (separator + 1).checked_sub(1) else {",
        &[LIB],
    ),
    mutation(
        "shares of a rate are those by size alone",
        "src/filter/budget.rs",
        "    by_size.min(left).max(by_size * LEAST)",
        "    by_size.min(left.max(by_size)).max(by_size * LEAST)",
        &[RATE],
    ),
    mutation(
        "a merge in progress counts with its output alone",
        "src/store/plan.rs",
        "            rates += plan.rate.max(before);",
        "            rates += plan.rate + before * 0.0;",
        &[RATE],
    ),
    mutation(
        "a memory is taken for more than it is",
        "src/filter/budget.rs",
        "memory.saturating_sub(memtables)",
        "(memory * 8).saturating_sub(memtables)",
        &["a_memory_is_held"],
    ),
];
