//! Values, fields and parameters of a job.

use super::{refused, server, with};

#[tokio::test]
async fn numbers_that_are_no_whole_numbers_name_their_field() {
    let server = server();
    let numbers =
        ["/base/n", "/base/a", "/base/fri/log_blowup", "/recursion/layers", "/fri/num_queries"];
    let numbers = numbers.into_iter().chain(["/final/fri/query_pow_bits", "/deadline_s"]);
    for pointer in numbers {
        let field = pointer[1..].replace('/', ".");
        let values = [
            "-1",
            "1.5",
            "1e3",
            "1e300",
            "99999999999999999999",
            "\"5\"",
            "null",
            "true",
            "[]",
            "{}",
            "[1]",
        ];
        for value in values {
            let got = refused(&server, with(pointer, value)).await;
            assert_eq!(got, (422, "invalid-body".into(), Some(field.clone())), "{field} = {value}");
        }
        for value in ["1e999", "-", "01", "+1", "0x1", "NaN", "Infinity", "1.", ".5", "'1'"] {
            let (status, kind, _) = refused(&server, with(pointer, value)).await;
            assert_eq!((status, kind.as_str()), (400, "invalid-json"), "{field} = {value}");
        }
        let (status, kind, got) = refused(&server, with(pointer, "18446744073709551615")).await;
        assert_eq!((status, got.as_ref()), (422, Some(&field)), "{kind}");
        assert!(["parameter-refused", "over-limit"].contains(&kind.as_str()), "{field}: {kind}");
    }
    for value in ["1.5", "\"5\"", "null", "9223372036854775808"] {
        let got = refused(&server, with("/priority", value)).await;
        assert_eq!(got, (422, "invalid-body".into(), Some("priority".into())), "{value}");
    }
}

#[tokio::test]
async fn wrong_types_name_their_field() {
    let server = server();
    let places = [
        ("/base", "base"),
        ("/recursion", "recursion"),
        ("/preset", "preset"),
        ("/fri", "fri"),
        ("/final", "final"),
        ("/final/fri", "final.fri"),
        ("/base/fri", "base.fri"),
        ("/base/program", "base.program"),
        ("/recursion/mode", "recursion.mode"),
        ("/labels", "labels"),
        ("/labels/k", "labels.k"),
    ];
    for (pointer, field) in places {
        for value in ["null", "5", "true", "[]", "[\"keccak\", 5]", "1.5"] {
            let (status, kind, got) = refused(&server, with(pointer, value)).await;
            // A name that is no string is no JSON of a name to the parser.
            let name = ["base.program", "recursion.mode"].contains(&field);
            let one_of = [(422, "invalid-body"), (400, "invalid-json")];
            assert!(
                one_of[..1 + usize::from(name)].contains(&(status, kind.as_str())),
                "{field} = {value}"
            );
            // A place inside an array that should not be there is named more precisely.
            let got = got.unwrap_or_default();
            assert!(
                got == field || got.starts_with(&format!("{field}[")),
                "{field} = {value}: {got}"
            );
        }
    }
    for text in ["[]", "5", "null", "\"x\"", "true", "[{\"program\":\"fibonacci\"}]"] {
        let (status, kind, _) = refused(&server, text).await;
        assert_eq!((status, kind.as_str()), (422, "invalid-body"), "{text}");
    }
}

#[tokio::test]
async fn unknown_duplicate_and_missing_fields_are_named() {
    let server = server();
    let cases = [
        (r#"{"bse":{}}"#, "bse"),
        (r#"{"base":{"program":"fibonacci","m":5}}"#, "base.m"),
        (r#"{"base":{"program":"fibonacci","num_hashes":5}}"#, "base.num_hashes"),
        (r#"{"base":{"program":"keccak","n":5}}"#, "base.n"),
        (r#"{"base":{"program":"keccak","job":"x"}}"#, "base.job"),
        (r#"{"base":{"n":5}}"#, "base.program"),
        (r#"{"base":{"program":"fibonacci","fri":{"queries":5}}}"#, "base.fri.queries"),
        (r#"{"base":{"program":"fibonacci","n":5,"n":6}}"#, "base.n"),
        (r#"{"base":{"program":"fibonacci","program":"keccak"}}"#, "base.program"),
        (r#"{"base":{"program":"keccak"},"base":{"program":"fibonacci"}}"#, "base"),
        (r#"{"base":{"program":"keccak"},"preset":"default","preset":"default"}"#, "preset"),
        (
            r#"{"base":{"program":"keccak"},"fri":{"cap_height":1,"cap_height":1}}"#,
            "fri.cap_height",
        ),
        (r#"{"base":{"program":"keccak"},"labels":{"a":"1","a":"1"}}"#, "labels.a"),
        (
            r#"{"base":{"program":"keccak"},"recursion":{"mode":"chain","depth":1}}"#,
            "recursion.depth",
        ),
        (
            r#"{"base":{"program":"keccak"},"recursion":{"mode":"tree","depth":1}}"#,
            "recursion.arity",
        ),
        (r#"{"base":{"program":"keccak"},"recursion":{"layers":1}}"#, "recursion.mode"),
        (
            r#"{"base":{"program":"keccak"},"recursion":{"mode":"tree","mode":"chain"}}"#,
            "recursion.mode",
        ),
        (
            r#"{"recursion":{"mode":"tree","arity":2,"leaves":[{"program":"keccak"},{"program":"keccak","n":1}]}}"#,
            "recursion.leaves[1].n",
        ),
        (
            r#"{"recursion":{"mode":"tree","arity":2,"leaves":[{"program":"keccak"},{"job":"x","seed":1}]}}"#,
            "recursion.leaves[1].seed",
        ),
        (
            r#"{"recursion":{"mode":"tree","arity":2,"leaves":[{"program":"keccak"},{}]}}"#,
            "recursion.leaves[1].program",
        ),
    ];
    for (text, field) in cases {
        let got = refused(&server, text).await;
        assert_eq!(got, (422, "invalid-body".into(), Some(field.into())), "{text}");
    }
}

#[tokio::test]
async fn parameters_that_nothing_can_be_proved_for_are_named() {
    let server = server();
    let tree = |rest: &str| {
        format!(
            r#"{{"base":{{"program":"fibonacci"}},"preset":"insecure-test","recursion":{{"mode":"tree",{rest}}}}}"#
        )
    };
    let leaf = |leaf: &str| {
        format!(
            r#"{{"preset":"insecure-test","recursion":{{"mode":"tree","arity":2,"leaves":[{{"program":"keccak"}},{leaf}]}}}}"#
        )
    };
    let cases = [
        (with("/base/a", "2130706433"), "parameter-refused", "base.a"),
        (with("/base/fri/log_blowup", "9"), "parameter-refused", "base.fri.log_blowup"),
        (with("/recursion/layers", "65"), "parameter-refused", "recursion.layers"),
        (with("/preset", "\"fast\""), "parameter-refused", "preset"),
        (with("/preset", "\"../../etc/passwd\""), "parameter-refused", "preset"),
        (with("/labels", "{\"a b\":\"c\"}"), "parameter-refused", "labels.a b"),
        (with("/labels", "{\"a\":\"\\u0000\"}"), "parameter-refused", "labels.a"),
        (with("/recursion/layers", "0"), "parameter-refused", "final.fri"),
        (with("/deadline_s", "99999999999"), "over-limit", "deadline_s"),
        (with("/deadline_s", "0"), "parameter-refused", "deadline_s"),
        (r#"{}"#.to_owned(), "parameter-refused", "base"),
        (tree(r#""arity":1,"depth":1"#), "parameter-refused", "recursion.arity"),
        (tree(r#""arity":9,"depth":1"#), "parameter-refused", "recursion.arity"),
        (tree(r#""arity":8,"depth":9"#), "parameter-refused", "recursion.depth"),
        (tree(r#""arity":2,"depth":0"#), "parameter-refused", "recursion.depth"),
        (tree(r#""arity":2"#), "parameter-refused", "recursion"),
        (leaf(r#"{"job":"../../etc/passwd"}"#), "leaf-refused", "recursion.leaves[1].job"),
        (
            leaf(r#"{"job":"01980000-0000-7000-8000-000000000000"}"#),
            "leaf-refused",
            "recursion.leaves[1].job",
        ),
    ];
    for (text, kind, field) in cases {
        assert_eq!(
            refused(&server, text.clone()).await,
            (422, kind.into(), Some(field.into())),
            "{text}"
        );
    }
}
