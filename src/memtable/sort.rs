//! Sorts places by the bytes of their keys.
//!
//! URLs share long prefixes, so that comparing two of them walks through many
//! equal bytes, in memory that is not in the cache. Here each step loads eight
//! bytes of every key once, sorts by them as numbers, and goes on with the next
//! eight within each group of equals.

struct Item {
    /// Eight bytes of the key, big-endian, so that numbers order as bytes do.
    head: u64,
    place: u64,
}

/// Groups up to this size are sorted by plain comparison.
const SMALL: usize = 12;

/// Sorts `places` by `key(place)`, bytewise. Keys must be distinct.
pub(super) fn by_key<'k>(places: &mut [u64], key: impl Fn(u64) -> &'k [u8]) {
    let mut items: Vec<Item> = places
        .iter()
        .map(|&place| Item { head: 0, place })
        .collect();
    // Ranges still to be sorted, with the number of bytes known to be equal.
    let mut open = vec![(0, items.len(), 0)];
    while let Some((from, to, depth)) = open.pop() {
        let Some(group) = items.get_mut(from..to) else {
            continue;
        };
        if group.len() <= SMALL {
            group.sort_unstable_by(|a, b| {
                let (a, b) = (key(a.place), key(b.place));
                a.get(depth..).cmp(&b.get(depth..))
            });
            continue;
        }
        for item in group.iter_mut() {
            item.head = head(key(item.place), depth);
        }
        group.sort_unstable_by_key(|item| item.head);
        let mut start = 0;
        while let Some(first) = group.get(start) {
            let head = first.head;
            let rest = group.get(start..).unwrap_or_default();
            let len = rest.iter().take_while(|item| item.head == head).count();
            if let Some(equals) = group.get_mut(start..start + len)
                && len > 1
            {
                // Keys that end within these eight bytes are prefixes of the
                // others (zeros fill up), so that they come first, by length.
                let ended = partition(equals, |item| key(item.place).len() <= depth + 8);
                if let Some(short) = equals.get_mut(..ended) {
                    short.sort_unstable_by_key(|item| key(item.place).len());
                }
                open.push((from + start + ended, from + start + len, depth + 8));
            }
            start += len;
        }
    }
    for (place, item) in places.iter_mut().zip(items) {
        *place = item.place;
    }
}

/// Moves the items that `wanted` picks to the front; their number.
fn partition(items: &mut [Item], wanted: impl Fn(&Item) -> bool) -> usize {
    let mut count = 0;
    for i in 0..items.len() {
        if items.get(i).is_some_and(&wanted) {
            items.swap(i, count);
            count += 1;
        }
    }
    count
}

/// Eight bytes of `key` from `depth` on; zeros where it has ended.
fn head(key: &[u8], depth: usize) -> u64 {
    let rest = key.get(depth..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(rest) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::by_key;
    use proptest::prelude::*;

    fn check(mut keys: Vec<Vec<u8>>) {
        keys.sort();
        keys.dedup();
        let sorted = keys.clone();
        // Any other order to begin with.
        keys.sort_by_key(|key| crate::filter::hash(7, key));
        let mut places: Vec<u64> = (0..keys.len() as u64).collect();
        by_key(&mut places, |place| &keys[place as usize]);
        let by_places: Vec<_> = places.iter().map(|&p| keys[p as usize].clone()).collect();
        assert_eq!(by_places, sorted);
    }

    #[test]
    fn zeros_and_prefixes_are_told_apart() {
        let mut keys = Vec::new();
        for len in 0..40 {
            keys.push(vec![0; len]);
            keys.push([vec![0; len], vec![1]].concat());
            keys.push([b"https://example.com/".to_vec(), vec![0; len]].concat());
        }
        check(keys);
    }

    #[test]
    fn long_equal_prefixes_need_no_deep_stack() {
        let keys = (0..40u32).map(|i| [vec![b'x'; 65_000], i.to_be_bytes().to_vec()].concat());
        check(keys.collect());
    }

    proptest! {
        #[test]
        fn any_keys_are_sorted(keys in proptest::collection::vec(
            proptest::collection::vec(0u8..3, 0..30), 0..200)
        ) {
            check(keys);
        }
    }
}
