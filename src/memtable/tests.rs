use super::*;

fn hash(key: &[u8]) -> u64 {
    crate::filter::hash(1, key)
}

fn key(i: u32) -> Vec<u8> {
    format!("https://example.com/page/{i}").into_bytes()
}

#[test]
fn an_entry_is_invisible_until_it_is_published() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let a = key(1);
    assert!(appender.insert(hash(&a), &a, Some(77)));
    assert!(!appender.insert(hash(&a), &a, Some(78)));
    assert_eq!(memtable.get(hash(&a), &a), None);
    assert_eq!(memtable.len(), 0);
    memtable.publish(appender.mark());
    assert_eq!(memtable.get(hash(&a), &a), Some(Record::seen_at(Some(77))));
    assert_eq!(memtable.len(), 1);
}

#[test]
fn what_is_taken_back_is_gone_and_its_place_is_used_again() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let half = if cfg!(miri) { 50 } else { 500 };
    for i in 0..half {
        appender.insert(hash(&key(i)), &key(i), None);
    }
    let mark = appender.mark();
    memtable.publish(mark);
    for i in half..2 * half {
        appender.insert(hash(&key(i)), &key(i), None);
    }
    appender.take_back(mark, hash);
    assert_eq!(appender.mark(), mark);
    for i in half..2 * half {
        assert!(appender.insert(hash(&key(i)), &key(i), Some(u64::from(i))));
    }
    memtable.publish(appender.mark());
    for i in 0..2 * half {
        let expected = Record::seen_at((i >= half).then_some(u64::from(i)));
        assert_eq!(memtable.get(hash(&key(i)), &key(i)), Some(expected));
    }
    assert_eq!(memtable.len(), u64::from(2 * half));
    assert_eq!(appender.iter().count(), 2 * half as usize);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of entries")]
fn a_full_table_says_so_before_it_overflows() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let mut count = 0;
    while appender.has_room(1, entry_size(4)) {
        let key: [u8; 4] = u32::to_be_bytes(count);
        assert!(appender.insert(hash(&key), &key, None));
        count += 1;
    }
    memtable.publish(appender.mark());
    assert_eq!(memtable.len(), u64::from(count));
    let absent = u32::to_be_bytes(count);
    assert_eq!(memtable.get(hash(&absent), &absent), None);
    let places = memtable.sorted(b"");
    let keys: Vec<_> = places
        .iter()
        .map(|&p| memtable.entry(p).unwrap().key)
        .collect();
    assert!(keys.is_sorted());
    assert_eq!(keys.len(), count as usize);
}

#[test]
fn the_longest_key_fits() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let long = vec![b'k'; 65_535];
    assert!(appender.has_room(1, entry_size(long.len())));
    appender.insert(hash(&long), &long, Some(1));
    memtable.publish(appender.mark());
    assert!(memtable.get(hash(&long), &long).is_some());
    assert!(memtable.get(hash(&long), &long[1..]).is_none());
}

#[test]
fn readers_see_a_prefix_of_what_was_appended() {
    // Under Miri each step takes a thousand times as long, and huge pages are unknown.
    let (memory, count) = if cfg!(miri) {
        (1 << 20, 40)
    } else {
        (8 << 20, 60_000)
    };
    let (memtable, mut appender) = Memtable::new(memory).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0u32;
            while !done.load(Ordering::Relaxed) {
                let visible = memtable.len() as u32;
                // What was counted before may be a little ahead of the bytes.
                while seen + 1 < visible {
                    assert!(memtable.get(hash(&key(seen)), &key(seen)).is_some());
                    seen += 1;
                }
            }
        });
        // Another walks over the entries themselves, without the table of places.
        let walker = scope.spawn(|| {
            let mut place = 0;
            let mut seen = 0u32;
            while !done.load(Ordering::Relaxed) {
                while let Some(entry) = memtable.entry(place) {
                    assert_eq!(entry.key, key(seen));
                    place += entry.size as u64;
                    seen += 1;
                }
            }
        });
        for i in 0..count {
            // Every third is taken back and given again.
            let mark = appender.mark();
            appender.insert(hash(&key(i)), &key(i), None);
            if i % 3 == 0 {
                appender.take_back(mark, hash);
                appender.insert(hash(&key(i)), &key(i), None);
            }
            memtable.publish(appender.mark());
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        walker.join().unwrap();
    });
}

#[test]
#[cfg_attr(miri, ignore = "huge pages")]
fn the_largest_batch_of_the_shortest_keys_finds_room() {
    for memory in [1 << 20, 3 << 20, 64 << 20] {
        let (_, appender) = Memtable::new(memory).unwrap();
        let limit = (memory / 4).min(16 << 20);
        let count = limit / entry_size(1);
        assert!(appender.has_room(count, limit), "memory {memory}");
    }
}
