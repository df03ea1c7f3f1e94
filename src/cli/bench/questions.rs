//! What is asked of a store: URLs that it has and URLs that it has not, in a mixed order.

use super::generator::Dice;
use super::keys::{Keys, OwnedKey};

/// The URLs to ask for.
#[derive(Debug)]
pub(super) struct Samples {
    pub(super) present: Vec<OwnedKey>,
    pub(super) absent: Vec<OwnedKey>,
}

/// Lookups in the order in which they are asked, each with its right answer.
#[derive(Debug)]
pub(super) struct Questions {
    keys: Keys,
    present: Vec<bool>,
}

impl Samples {
    /// So many lookups, of which the share `hits` finds its URL. URLs come again where there
    /// are not enough. The order follows from the seed.
    pub(super) fn questions(&self, lookups: usize, hits: f64, seed: u64) -> Questions {
        let found = ((lookups as f64) * hits).round() as usize;
        let mut present = vec![false; lookups];
        present.iter_mut().take(found).for_each(|p| *p = true);
        let mut dice = Dice(seed ^ hits.to_bits());
        dice.shuffle(&mut present);
        let mut questions = Questions {
            keys: Keys::default(),
            present,
        };
        // Each sample in an order of its own: keys of a store come sorted.
        let mut order = |count: usize| {
            let mut places: Vec<usize> = (0..count).collect();
            dice.shuffle(&mut places);
            places.into_iter().cycle()
        };
        let mut hits = order(self.present.len()).filter_map(|place| self.present.get(place));
        let mut misses = order(self.absent.len()).filter_map(|place| self.absent.get(place));
        for &present in &questions.present {
            let next = if present { hits.next() } else { misses.next() };
            if let Some(key) = next {
                questions.keys.push(key);
            }
        }
        questions
    }
}

impl Questions {
    /// The lookups at these places, with their right answers.
    pub(super) fn range(&self, from: usize, to: usize) -> impl Iterator<Item = (&[u8], bool)> {
        (from..to).filter_map(|place| {
            let key = self.keys.get(place)?;
            Some((key, *self.present.get(place)?))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many must find their URL.
    pub(super) fn hits(&self) -> u64 {
        self.present.iter().filter(|present| **present).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let keys = |from: u8, to: u8| (from..to).map(|n| Box::from([n])).collect();
        Samples {
            present: keys(0, 10),
            absent: keys(100, 200),
        }
    }

    #[test]
    fn the_share_of_hits_is_exact_and_every_url_comes_as_often_as_any_other() {
        let questions = samples().questions(50, 0.4, 1);
        assert_eq!((questions.len(), questions.hits()), (50, 20));
        let all: Vec<_> = questions.range(0, 50).collect();
        assert!(all.iter().all(|(key, present)| (key[0] < 100) == *present));
        for n in 0..10 {
            assert_eq!(all.iter().filter(|(key, _)| key[0] == n).count(), 2);
        }
        let again = samples().questions(50, 0.4, 1);
        assert!(again.range(0, 50).eq(questions.range(0, 50)));
        let other = samples().questions(50, 0.4, 2);
        assert!(!other.range(0, 50).eq(questions.range(0, 50)));
    }

    #[test]
    fn only_hits_or_only_misses_need_only_theirs() {
        let mut some = samples();
        some.absent.clear();
        assert_eq!(some.questions(30, 1.0, 1).hits(), 30);
        some = samples();
        some.present.clear();
        assert_eq!(some.questions(30, 0.0, 1).hits(), 0);
    }
}
