//! What this server sends instead of answering it: the messages to the webhooks of jobs.

use serde_json::{Value, json};
use utoipa::Number;
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{
    ContentBuilder, ObjectBuilder, OpenApi, PathItem, PathsBuilder, Ref, Required, ResponseBuilder,
};

use crate::model::JobState;

/// Name of the schema of a message.
const MESSAGE: &str = "WebhookMessage";

/// Adds the messages.
pub(super) fn add(api: &mut OpenApi) {
    if let Some(components) = &mut api.components {
        components.schemas.insert(MESSAGE.to_owned(), message().into());
    }
    let post = OperationBuilder::new()
        .operation_id(Some("job_changed"))
        .tag("jobs")
        .summary(Some("News of a job"))
        .description(Some(
            "Sent to the `webhook` of a job when it ends, or with each change of its state. Signed as Standard \
             Webhooks has it. Sent again, with pauses that double, until it is answered with 2xx: it may come \
             twice, and not in order.",
        ))
        .parameters(Some([
            header("webhook-id", Type::String, "Name of the message, the same however often it comes"),
            header("webhook-timestamp", Type::Integer, "When it was sent: seconds since 1970, UTC"),
            header(
                "webhook-signature",
                Type::String,
                "`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, with the secret that `arbor keys \
                 webhook-secret NAME` shows: what follows `whsec_` there is its base64",
            ),
        ]))
        .request_body(Some(body()))
        .response("2XX", ResponseBuilder::new().description("Taken"))
        .response("410", ResponseBuilder::new().description("It is not sent again"))
        .build();
    let item = PathItem::new(HttpMethod::Post, post);
    api.webhooks = Some(PathsBuilder::new().path("job", item).build());
}

fn header(name: &str, kind: Type, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(kind)))
        .build()
}

fn body() -> RequestBody {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(MESSAGE)))
        .example(Some(example()))
        .build();
    RequestBodyBuilder::new()
        .content("application/json", content)
        .required(Some(Required::True))
        .build()
}

/// What `store/deliveries.rs` writes down.
fn message() -> ObjectBuilder {
    let types = JobState::ALL.map(|state| format!("job.{state}"));
    let error = OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(SchemaType::new(Type::Null)))
        .item(Ref::from_schema_name("JobError"));
    let data = ObjectBuilder::new()
        .property("id", text("The job"))
        .property("state", Ref::from_schema_name("JobState"))
        .property("event", whole("The event that this tells of: its number in the job", 1))
        .property("error", error)
        .property("proof", Ref::from_schema_name("ProofRef"))
        .required("id")
        .required("state")
        .required("event")
        .required("error")
        .description(Some("The job. `proof` is there if it has succeeded."));
    ObjectBuilder::new()
        .property("type", text("`job.` and the state").enum_values(Some(types)))
        .property("at_ms", whole("When it happened", 0))
        .property("data", data)
        .required("type")
        .required("at_ms")
        .required("data")
        .description(Some("What the webhook of a job is told."))
}

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}

fn whole(description: &str, least: usize) -> ObjectBuilder {
    let number = ObjectBuilder::new().schema_type(Type::Integer).description(Some(description));
    number.minimum(Some(Number::UInt(least)))
}

fn example() -> Value {
    json!({
        "type": "job.succeeded",
        "at_ms": 1_764_540_000_000_u64,
        "data": {
            "id": "019ad5a2-7c00-7000-8000-000000000000",
            "state": "succeeded",
            "event": 9,
            "error": null,
            "proof": {
                "hash": "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
                "bytes": 171_234,
            },
        },
    })
}
