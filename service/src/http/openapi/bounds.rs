//! What the values of a request may be, as far as one value tells. What depends on several, such as a cap
//! that is higher than a tree, is refused with 422 all the same.

use arbor_prover::fri::{
    MAX_LOG_ARITY, MAX_LOG_BLOWUP, MAX_LOG_FINAL_POLY_LEN, MAX_POW_BITS, MAX_QUERIES,
    MAX_SECURITY_LEVEL, TWO_ADICITY, max_cap_height,
};
use arbor_prover::params::{MAX_LAYERS, MODULUS};
use arbor_prover::preset;
use arbor_prover::tree::{MAX_ARITY, MAX_LEAVES};
use serde_json::{Value, json};
use utoipa::Number;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{ArrayItems, Schema, SchemaType, Type};
use utoipa::openapi::{Object, ObjectBuilder, OpenApi, RefOr};

use super::super::jobs::{MAX_KEY, MAX_LABEL_NAME, MAX_PAGE};
use super::operations;
use crate::api::ProblemKind;
use crate::outbound::MAX_URL;

/// Schemas that are read from requests. They are part of answers too, in which nothing is null either.
const READ: [&str; 8] =
    ["Job", "BaseJob", "Leaf", "FinishedJob", "LastJob", "FriOverrides", "Recursion", "Webhook"];
/// An id of a job.
const ID: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";

/// Adds the bounds, and takes null away where a field is left out instead. Of jobs there are examples too.
pub(super) fn add(api: &mut OpenApi) {
    if let Some(components) = &mut api.components {
        if let Some(RefOr::T(Schema::Object(job))) = components.schemas.get_mut("Job") {
            job.examples = examples();
        }
        for name in READ {
            if let Some(RefOr::T(schema)) = components.schemas.get_mut(name) {
                fields(schema);
            }
        }
    }
    for operation in api.paths.paths.values_mut().flat_map(operations) {
        for parameter in operation.parameters.iter_mut().flatten() {
            if let RefOr::T(Parameter { name, schema: Some(schema), .. }) = parameter {
                never_null(schema);
                value(name, schema);
            }
        }
    }
}

/// A chain and a tree that take a second.
fn examples() -> Vec<Value> {
    let base = json!({"program": "fibonacci", "n": 100});
    vec![
        json!({"base": base, "recursion": {"mode": "chain", "layers": 1}, "labels": {"team": "a"}}),
        json!({"base": base, "recursion": {"mode": "tree", "arity": 2, "depth": 1}, "priority": 1}),
    ]
}

fn fields(schema: &mut Schema) {
    match schema {
        Schema::Object(object) => {
            for (name, property) in &mut object.properties {
                never_null(property);
                value(name, property);
            }
        }
        Schema::OneOf(one) => one.items.iter_mut().for_each(|item| {
            if let RefOr::T(schema) = item {
                fields(schema);
            }
        }),
        _ => {}
    }
}

/// Null is refused: what is not given is left out.
fn never_null(schema: &mut RefOr<Schema>) {
    let not_null = |kind: &mut SchemaType| {
        if let SchemaType::Array(kinds) = kind {
            kinds.retain(|kind| *kind != Type::Null);
            if let [only] = kinds.as_slice() {
                *kind = SchemaType::Type(only.clone());
            }
        }
    };
    match schema {
        RefOr::T(Schema::Object(object)) => not_null(&mut object.schema_type),
        RefOr::T(Schema::Array(array)) => not_null(&mut array.schema_type),
        RefOr::T(Schema::OneOf(one)) if one.items.len() == 2 => *schema = one.items.remove(0),
        _ => {}
    }
}

fn value(name: &str, schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => one(name, object),
        Schema::Array(array) => {
            if name == "leaves" {
                (array.min_items, array.max_items) = (Some(1), Some(MAX_LEAVES));
            }
            if let ArrayItems::RefOrSchema(items) = &mut array.items
                && let RefOr::T(Schema::Object(object)) = &mut **items
            {
                one(name, object);
            }
        }
        _ => {}
    }
}

/// The bounds of the field or parameter `name`.
fn one(name: &str, object: &mut Object) {
    match name {
        "num_hashes" | "deadline_s" | "depth" => object.minimum = Some(Number::UInt(1)),
        "seed" => whole(object, 0, u64::MAX),
        "a" | "b" => whole(object, 0, MODULUS - 1),
        "n" => whole(object, 0, 1 << TWO_ADICITY),
        "layers" => whole(object, 0, MAX_LAYERS as u64),
        "arity" => whole(object, 2, MAX_ARITY as u64),
        "priority" => {
            (object.minimum, object.maximum) =
                (Some(Number::Int(isize::MIN)), Some(Number::Int(isize::MAX)));
        }
        "log_blowup" => whole(object, 1, MAX_LOG_BLOWUP as u64),
        "max_log_arity" => whole(object, 1, MAX_LOG_ARITY as u64),
        "log_final_poly_len" => whole(object, 0, MAX_LOG_FINAL_POLY_LEN as u64),
        "cap_height" => {
            whole(object, 0, max_cap_height(MAX_LOG_BLOWUP, MAX_LOG_FINAL_POLY_LEN) as u64);
        }
        "security_level" => whole(object, 1, MAX_SECURITY_LEVEL as u64),
        "num_queries" => whole(object, 1, MAX_QUERIES as u64),
        name if name.ends_with("_pow_bits") => whole(object, 0, MAX_POW_BITS as u64),
        "preset" => text(object, presets()),
        "labels" => {
            let word = ObjectBuilder::new().schema_type(Type::String);
            let word =
                word.pattern(Some(format!("^[A-Za-z0-9._/-]{{1,{MAX_LABEL_NAME}}}$"))).build();
            object.property_names = Some(Box::new(Schema::Object(word)));
        }
        "url" => {
            text(object, "^https?://[A-Za-z0-9.:\\[\\]-]+(/|$)");
            object.max_length = Some(MAX_URL);
        }
        "job" | "cursor" => text(object, ID),
        "limit" => whole(object, 1, MAX_PAGE.unsigned_abs()),
        "after" | "last-event-id" => object.minimum = Some(Number::UInt(0)),
        "program" if object.enum_values.is_none() => text(object, "^(keccak|fibonacci)$"),
        "mode" if object.enum_values.is_none() => text(object, "^(chain|tree)$"),
        "format" => text(object, "^(json|csv)$"),
        "kind" => {
            let slugs = ProblemKind::ALL.iter().map(|kind| kind.slug());
            text(object, format!("^({})$", slugs.collect::<Vec<_>>().join("|")));
        }
        "label" => text(object, "^[^=]*="),
        "idempotency-key" => text(object, format!("^[!-~]{{1,{MAX_KEY}}}$")),
        _ => {}
    }
}

fn whole(object: &mut Object, least: u64, most: u64) {
    let bound = |value: u64| usize::try_from(value).ok().map(Number::UInt);
    (object.minimum, object.maximum) = (bound(least), bound(most));
}

fn text(object: &mut Object, pattern: impl Into<String>) {
    object.pattern = Some(pattern.into());
}

/// The names of the presets.
fn presets() -> String {
    let names = preset::names().map(|name| name.replace('.', "\\.")).collect::<Vec<_>>();
    let proven = preset::PROVEN.clone().map(|bits| bits.to_string()).collect::<Vec<_>>();
    format!("^({}|proven-({}))$", names.join("|"), proven.join("|"))
}
