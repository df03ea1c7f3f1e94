use super::*;
use crate::record::{StateKind, plain, write};

fn hash(key: &[u8]) -> u64 {
    crate::filter::hash(1, key)
}

/// Inserts a key unless it is there; whether it was.
fn insert(appender: &mut Appender, key: &[u8], seconds: Option<u64>) -> bool {
    let batch = Mark {
        len: 0,
        ..appender.mark()
    };
    let Place::Free(slot) = appender.find(hash(key), key, batch) else {
        return false;
    };
    match seconds {
        Some(seconds) => appender.append(hash(key), slot, key, &plain(seconds)),
        None => appender.append(hash(key), slot, key, &[]),
    }
    true
}

fn key(i: u32) -> Vec<u8> {
    format!("https://example.com/page/{i}").into_bytes()
}

#[test]
fn an_entry_is_invisible_until_it_is_published() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let a = key(1);
    let batch = appender.begin();
    assert!(insert(&mut appender, &a, Some(77)));
    assert!(!insert(&mut appender, &a, Some(78)));
    assert_eq!(memtable.get(hash(&a), &a), None);
    assert_eq!(memtable.changes(), (0, 0));
    let next = appender.begin();
    assert!(matches!(
        appender.find(hash(&a), &a, batch),
        Place::Taken(..)
    ));
    assert!(matches!(
        appender.find(hash(&a), &a, next),
        Place::Hidden(_)
    ));
    memtable.publish(appender.mark());
    assert!(matches!(
        appender.find(hash(&a), &a, next),
        Place::Taken(..)
    ));
    assert_eq!(memtable.get(hash(&a), &a), Some(Stored::Seen(Some(77))));
    assert_eq!(memtable.changes(), (1, 0));
}

#[test]
fn what_is_taken_back_is_gone_and_its_place_is_used_again() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let half = if cfg!(miri) { 50 } else { 500 };
    for i in 0..half {
        insert(&mut appender, &key(i), None);
    }
    let mark = appender.begin();
    memtable.publish(mark);
    for i in half..2 * half {
        insert(&mut appender, &key(i), None);
    }
    appender.take_back(mark, hash);
    assert_eq!(appender.mark(), mark);
    for i in half..2 * half {
        assert!(insert(&mut appender, &key(i), Some(u64::from(i))));
    }
    memtable.publish(appender.mark());
    for i in 0..2 * half {
        let expected = Stored::Seen((i >= half).then_some(u64::from(i)));
        assert_eq!(memtable.get(hash(&key(i)), &key(i)), Some(expected));
    }
    assert_eq!(memtable.changes(), (u64::from(2 * half), 0));
    assert_eq!(appender.iter().count(), 2 * half as usize);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of entries")]
fn a_full_table_says_so_before_it_overflows() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let mut count = 0;
    while appender.has_room(1, entry_size(4)) {
        let key: [u8; 4] = u32::to_be_bytes(count);
        assert!(insert(&mut appender, &key, None));
        count += 1;
    }
    memtable.publish(appender.mark());
    assert_eq!(memtable.changes(), (u64::from(count), 0));
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
    insert(&mut appender, &long, Some(1));
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
                let visible = memtable.changes().0 as u32;
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
                    place += entry.size() as u64;
                    seen += 1;
                }
            }
        });
        for i in 0..count {
            // Every third is taken back and given again.
            let mark = appender.begin();
            insert(&mut appender, &key(i), None);
            if i % 3 == 0 {
                appender.take_back(mark, hash);
                insert(&mut appender, &key(i), None);
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

#[test]
fn the_newest_published_version_counts() {
    let (memtable, mut appender) = Memtable::new(1 << 20).unwrap();
    let (a, b) = (key(1), key(2));
    let put = |appender: &mut Appender, key: &[u8], stored: Stored, replaces| {
        let mut record = Vec::new();
        write(&stored, replaces, &mut record);
        appender.put(hash(key), key, &record);
    };
    let get = |key: &[u8]| memtable.get(hash(key), key);
    let seen = |at| Stored::Seen(Some(at));
    put(&mut appender, &a, seen(1), None);
    put(&mut appender, &b, seen(1), None);
    memtable.publish(appender.mark());
    assert_eq!(memtable.changes(), (2, 0));

    // Two versions in one batch, and one of another key; then all are taken back.
    let batch = appender.begin();
    let versions = |appender: &mut Appender, key: &[u8], record: &[u8]| match appender.find(
        hash(key),
        key,
        batch,
    ) {
        Place::Taken(slot, _) => appender.replace(hash(key), slot, key, record),
        Place::Free(slot) => appender.append(hash(key), slot, key, record),
        Place::Hidden(_) => panic!("the batch's own"),
    };
    versions(&mut appender, &a, &[0b001_010]);
    versions(&mut appender, &key(3), &plain(3));
    versions(&mut appender, &a, &plain(9));
    versions(&mut appender, &key(3), &[0b001_010]);
    assert_eq!(get(&a), Some(seen(1)));
    assert_eq!(get(&key(3)), None);
    appender.take_back(batch, hash);
    assert_eq!(appender.mark(), batch);
    assert_eq!((get(&a), get(&key(3))), (Some(seen(1)), None));

    put(&mut appender, &a, Stored::Forgotten, Some(StateKind::Seen));
    assert_eq!(get(&a), Some(seen(1)));
    memtable.publish(appender.mark());
    assert_eq!(get(&a), Some(Stored::Forgotten));
    assert_eq!(memtable.changes(), (2, 1));
    assert!(memtable.has_tombstones());
    put(&mut appender, &a, seen(5), None);
    memtable.publish(appender.mark());
    assert_eq!(get(&a), Some(seen(5)));
    assert_eq!(memtable.changes(), (3, 1));
    assert_eq!(memtable.count_moves().sum(), 2);

    // A walk gives each key once, with its newest version.
    let places = memtable.sorted(b"");
    let entries: Vec<_> = places
        .iter()
        .map(|&place| memtable.entry(place).unwrap())
        .map(|entry| (entry.key.to_vec(), entry.stored()))
        .collect();
    assert_eq!(entries, [(a, seen(5)), (b, seen(1))]);
}

/// A key is changed without an end; readers always find one of its versions, and never an
/// older one than before.
#[test]
fn readers_find_a_version_while_it_is_replaced() {
    let (memory, count) = if cfg!(miri) {
        (1 << 20, 60)
    } else {
        (16 << 20, 100_000)
    };
    let (memtable, mut appender) = Memtable::new(memory).unwrap();
    let key = key(7);
    appender.put(hash(&key), &key, &plain(0));
    memtable.publish(appender.mark());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let found = memtable.get(hash(&key), &key).unwrap().first().unwrap();
                assert!(found >= last, "{found} after {last}");
                last = found;
            }
        });
        for i in 1..count {
            let batch = appender.begin();
            let replace = |appender: &mut Appender, record: &[u8]| match appender.find(
                hash(&key),
                &key,
                batch,
            ) {
                Place::Taken(slot, _) => appender.replace(hash(&key), slot, &key, record),
                _ => panic!("it is there"),
            };
            if i % 3 == 0 {
                replace(&mut appender, &plain(u64::MAX >> 30));
                replace(&mut appender, &plain(u64::MAX >> 30));
                appender.take_back(batch, hash);
                appender.begin();
            }
            replace(&mut appender, &plain(i));
            memtable.publish(appender.mark());
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(memtable.sorted(b"").len(), 1);
}
