//! Where the id in an answer leads: tools follow these from a submission to its proof.

use utoipa::openapi::link::Link;
use utoipa::openapi::{OpenApi, RefOr};

use super::operations;

/// Operations whose answer is a job.
const FROM: [&str; 3] = ["submit_job", "get_job", "retry_job"];
/// Operations that take its id, with the name of the link.
const TO: [(&str, &str); 8] = [
    ("job", "get_job"),
    ("events", "follow_job"),
    ("tree", "get_tree"),
    ("timings", "get_timings"),
    ("proof", "download_proof"),
    ("webhooks", "get_webhooks"),
    ("retry", "retry_job"),
    ("delete", "delete_job"),
];

/// The id in these answers.
const ID: &str = "$response.body#/id";

/// Adds the links.
pub(super) fn add(api: &mut OpenApi) {
    for operation in api.paths.paths.values_mut().flat_map(operations) {
        let from = operation.operation_id.as_deref();
        if !from.is_some_and(|id| FROM.contains(&id)) {
            continue;
        }
        for (status, response) in &mut operation.responses.responses {
            if let (true, RefOr::T(response)) = (status.starts_with("20"), response) {
                let to =
                    |operation: &str| Link::builder().operation_id(operation).parameter("id", ID);
                for (name, operation) in TO {
                    response.links.insert(name.to_owned(), RefOr::T(to(operation).build()));
                }
                // The node that every job has.
                let node =
                    to("download_node_proof").parameter("level", "0").parameter("index", "0");
                response.links.insert("node-proof".to_owned(), RefOr::T(node.build()));
            }
        }
    }
}
