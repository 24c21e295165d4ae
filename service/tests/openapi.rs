//! The committed description of the API is the one that the server gives.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arbor_service::api::ProblemKind;
use arbor_service::http::openapi::document;
use serde_json::Value;

/// Where the description is committed.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json");

/// Methods in the description of a path; what else stands there is about all of them.
const METHODS: [&str; 8] = ["get", "head", "post", "put", "patch", "delete", "options", "trace"];

fn described() -> Value {
    serde_json::to_value(document()).unwrap()
}

/// `WRITE_OPENAPI=1 cargo test --release -p arbor-service --test openapi` writes the file anew.
#[test]
fn the_committed_description_is_that_of_the_routes() {
    let text = serde_json::to_string_pretty(&described()).unwrap() + "\n";
    if std::env::var_os("WRITE_OPENAPI").is_some_and(|value| value == "1") {
        std::fs::write(FILE, &text).unwrap();
    }
    let committed = std::fs::read_to_string(Path::new(FILE)).unwrap();
    assert!(
        committed == text,
        "openapi.json is not what the routes say; see this test for how to write it"
    );
}

/// Every place where `key` stands in an object below.
fn all<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(key));
            fields.values().for_each(|value| all(value, key, found));
        }
        Value::Array(items) => items.iter().for_each(|item| all(item, key, found)),
        _ => {}
    }
}

#[test]
fn references_resolve_and_operations_have_names_of_their_own() {
    let document = described();
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = Vec::new();
    all(&document, "$ref", &mut references);
    assert!(references.len() > 20);
    for reference in references {
        let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let operations = ["paths", "webhooks"].map(|of| document[of].as_object().unwrap().values());
    let operations = operations.into_iter().flatten();
    let operations = operations.flat_map(|item| item.as_object().unwrap().values());
    let names: Vec<_> =
        operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    let distinct: BTreeSet<_> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len(), "{names:?}");

    let mut links = Vec::new();
    all(&document["paths"], "links", &mut links);
    let links = links.into_iter().flat_map(|links| links.as_object().unwrap().values());
    let to: BTreeSet<_> = links.map(|link| link["operationId"].as_str().unwrap()).collect();
    assert_eq!(to.len(), 9, "{to:?}");
    assert!(to.is_subset(&distinct), "{to:?}");
}

#[test]
fn nothing_that_is_read_may_be_null() {
    let document = described();
    let job = serde_json::to_string(&document["components"]["schemas"]["Job"]).unwrap();
    let fri = serde_json::to_string(&document["components"]["schemas"]["FriOverrides"]).unwrap();
    assert!(!job.contains("\"null\"") && !fri.contains("\"null\""), "{job} {fri}");
    let read = serde_json::from_str::<arbor_prover::Job>(r#"{"base":null}"#);
    assert!(read.is_err(), "null is taken");
}

#[test]
fn every_route_is_described() {
    let document = described();
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeMap<&str, BTreeSet<&str>> = paths
        .iter()
        .map(|(path, item)| {
            let methods = item.as_object().unwrap().keys().map(String::as_str);
            (path.as_str(), methods.filter(|name| METHODS.contains(name)).collect())
        })
        .collect();
    let expected = [
        ("/livez", &["get"][..]),
        ("/metrics", &["get"]),
        ("/openapi.json", &["get"]),
        ("/problems/{kind}", &["get"]),
        ("/readyz", &["get"]),
        ("/v1/capabilities", &["get"]),
        ("/v1/jobs", &["get", "post"]),
        ("/v1/jobs/{id}", &["delete", "get"]),
        ("/v1/jobs/{id}/events", &["get"]),
        ("/v1/jobs/{id}/proof", &["get", "head"]),
        ("/v1/jobs/{id}/proof/{level}/{index}", &["get", "head"]),
        ("/v1/jobs/{id}/retry", &["post"]),
        ("/v1/jobs/{id}/timings", &["get"]),
        ("/v1/jobs/{id}/tree", &["get"]),
        ("/v1/jobs/{id}/webhooks", &["get"]),
        ("/v1/jobs:validate", &["post"]),
        ("/v1/presets", &["get"]),
        ("/v1/verifications", &["post"]),
    ];
    let expected: BTreeMap<_, BTreeSet<_>> = expected
        .into_iter()
        .map(|(path, methods)| (path, methods.iter().copied().collect()))
        .collect();
    assert_eq!(described, expected);
}

#[test]
fn proofs_of_jobs_and_of_nodes_are_described_alike() {
    let document = described();
    let paths = &document["paths"];
    let [job, node] =
        ["", "/{level}/{index}"].map(|of| &paths[format!("/v1/jobs/{{id}}/proof{of}")]);
    let answers = |operation: &Value| {
        let responses = operation["responses"].as_object().unwrap();
        responses.keys().cloned().collect::<BTreeSet<_>>()
    };
    let headers = |operation: &Value| {
        let parameters = operation["parameters"].as_array().unwrap().iter();
        let headers = parameters.filter(|parameter| parameter["in"] == "header");
        headers.map(|header| header["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for method in ["get", "head"] {
        assert_eq!(answers(&job[method]), answers(&node[method]), "{method}");
        assert_eq!(headers(&job[method]), headers(&node[method]), "{method}");
    }
    assert_eq!(headers(&node["get"]), ["range", "if-range", "if-none-match"]);
    assert_eq!(headers(&node["head"]), ["if-none-match"]);
    // Of HEAD there are no parts, and no answer has a body.
    let parts = &answers(&node["get"]) - &answers(&node["head"]);
    assert_eq!(parts, BTreeSet::from(["206", "416"].map(str::to_owned)));
    let mut bodies = Vec::new();
    all(&node["head"], "content", &mut bodies);
    assert_eq!(bodies, Vec::<&Value>::new());
}

#[test]
fn every_route_can_be_asked_for_by_another_name() {
    let document = described();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["responses"]["421"].is_object(), "{method} {path}");
        }
    }
}

#[test]
fn the_message_to_webhooks_is_described_with_what_checks_it() {
    let document = described();
    let post = &document["webhooks"]["job"]["post"];
    let headers = post["parameters"].as_array().unwrap().iter();
    let headers: Vec<_> = headers.map(|header| header["name"].as_str().unwrap()).collect();
    assert_eq!(headers, ["webhook-id", "webhook-timestamp", "webhook-signature"]);
    let body = &post["requestBody"]["content"]["application/json"];
    let schema = body["schema"]["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
    let fields = |schema: &Value| {
        schema["properties"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>()
    };
    let of = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let schema = document.pointer(schema).unwrap();
    assert_eq!(fields(schema), of(&body["example"]));
    assert_eq!(fields(&schema["properties"]["data"]), of(&body["example"]["data"]));
}

#[test]
fn a_job_has_the_fields_that_it_is_read_with() {
    let document = described();
    let fields = |schema: &str| {
        let pointer = format!("/components/schemas/{schema}/properties");
        let properties = document.pointer(&pointer).unwrap().as_object().unwrap();
        properties.keys().cloned().collect::<BTreeSet<_>>()
    };
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    let job = [
        "base",
        "recursion",
        "preset",
        "fri",
        "final",
        "priority",
        "deadline_s",
        "labels",
        "webhook",
    ];
    assert_eq!(fields("Job"), set(&job));
    assert_eq!(fields("FriOverrides").len(), 11);
    let job: arbor_prover::Job = serde_json::from_str(
        r#"{"base":{"program":"fibonacci"},"labels":{"a":"b"},"deadline_s":1,"webhook":{"url":"https://a.example/"}}"#,
    )
    .unwrap();
    let written = serde_json::to_value(&job).unwrap();
    assert_eq!(
        written.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>(),
        fields("Job")
    );
}

#[test]
fn kinds_of_errors_are_distinct_and_explained() {
    let slugs: BTreeSet<_> = ProblemKind::ALL.iter().map(|kind| kind.slug()).collect();
    assert_eq!(slugs.len(), ProblemKind::ALL.len());
    for kind in ProblemKind::ALL {
        assert!(kind.status().is_client_error() || kind.status().is_server_error(), "{kind:?}");
        assert!(kind.explanation().trim().ends_with('.'), "{kind:?}");
        assert_eq!(ProblemKind::of_status(kind.status()).status(), kind.status(), "{kind:?}");
    }
}
