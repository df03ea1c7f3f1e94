use super::*;
use proptest::prelude::*;

fn text(most: usize) -> impl Strategy<Value = Box<str>> {
    "[a-zà-ü ]{0,40}".prop_map(move |text| text[..text.floor_char_boundary(most)].into())
}

fn content() -> impl Strategy<Value = Option<[u8; 16]>> {
    any::<Option<[u8; 16]>>()
}

fn stored() -> impl Strategy<Value = Stored> {
    let detail = |changed: u64, first: u64| {
        let later = changed..=MAX_SECONDS;
        let since = first..=MAX_SECONDS;
        let last = prop_oneof![
            Just(None),
            (since.clone(), any::<u16>(), content()).prop_map(|(at, status, content)| {
                Some(Last::Fetched {
                    at,
                    status,
                    content,
                })
            }),
            (since, text(MAX_REASON)).prop_map(|(at, reason)| Some(Last::Failed { at, reason })),
        ];
        prop_oneof![
            Just(Detail::Seen),
            (
                later.clone(),
                any::<(u64, u64, u32)>(),
                text(MAX_WORKER),
                last
            )
                .prop_map(|(until, (epoch, counter, attempts), worker, last)| {
                    Detail::Claimed {
                        until,
                        token: Token { epoch, counter },
                        attempts,
                        worker,
                        last,
                    }
                }),
            (any::<u16>(), content())
                .prop_map(|(status, content)| Detail::Fetched { status, content }),
            (any::<u32>(), proptest::option::of(later), text(MAX_REASON)).prop_map(
                |(attempts, retry_at, reason)| Detail::Failed {
                    attempts,
                    retry_at,
                    reason,
                }
            ),
        ]
    };
    prop_oneof![
        Just(Stored::Seen(None)),
        Just(Stored::Forgotten),
        (0..=MAX_SECONDS).prop_map(|at| Stored::Seen(Some(at))),
        (0..=MAX_SECONDS)
            .prop_flat_map(|first| (Just(first), first..=MAX_SECONDS))
            .prop_flat_map(move |(first, changed)| {
                detail(changed, first).prop_map(move |detail| {
                    Stored::Full(Box::new(Details {
                        first,
                        changed,
                        detail,
                    }))
                })
            }),
    ]
}

fn kind() -> impl Strategy<Value = Option<StateKind>> {
    proptest::option::of(proptest::sample::select(&StateKind::ALL[..]))
}

proptest! {
    #[test]
    fn a_record_comes_back(stored in stored(), replaces in kind()) {
        let mut bytes = Vec::new();
        write(&stored, replaces, &mut bytes);
        prop_assert!(bytes.len() <= 255, "{}", bytes.len());
        prop_assert_eq!(read(&bytes), Ok(stored.clone()));
        let head = Head::of(&bytes);
        prop_assert_eq!(head.kind(), stored.kind());
        prop_assert_eq!(head.replaces(), replaces);
        // No part of it is another.
        for len in 1..bytes.len() {
            let part = bytes.get(..len).unwrap_or_default();
            prop_assert!(read(part).is_err(), "{len}");
        }
        bytes.push(0);
        prop_assert!(read(&bytes).is_err() || bytes.len() == 1);
    }

    #[test]
    fn a_payload_comes_back_from_any_base(stored in stored(), below in 0u64..1000) {
        if let Stored::Full(details) = stored {
            let base = details.first.saturating_sub(below);
            let mut bytes = Vec::new();
            write_payload(&details, base, &mut bytes);
            let number = number(&Stored::Full(details.clone()));
            prop_assert_eq!(read_payload(number, base, &mut Reader::new(&bytes)), Ok(*details));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(stored) = read(&bytes) {
            let mut again = Vec::new();
            write(&stored, Head::of(&bytes).replaces(), &mut again);
            prop_assert_eq!(read(&again), Ok(stored));
        }
    }
}

#[test]
fn a_state_of_a_later_version_is_named() {
    assert_eq!(read(&[7]), Err(Unreadable::State(7)));
    // What is replaced has a number up to that of `failed`.
    assert!(matches!(
        read(&[tag::FORGOTTEN | 5 << 3]),
        Err(Unreadable::Malformed(_))
    ));
}

#[test]
fn what_is_common_is_short() {
    let mut bytes = Vec::new();
    let details = Details {
        first: 1_732_900_000,
        changed: 1_732_900_900,
        detail: Detail::Fetched {
            status: 200,
            content: Some([7; 16]),
        },
    };
    write_payload(&details, 1_732_899_000, &mut bytes);
    // Two bytes for each time, one for the status.
    assert_eq!(bytes.len(), 2 + 2 + 1 + 16);
}
