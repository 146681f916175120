import Coordinators
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// Returns a response that sends each reply as a server-sent event.
///
/// The stream ends when the client leaves, and when the server shuts down: a server waits for the responses that it has begun.
func eventStream<Reply>(of replies: ReplyStream<Reply>, for request: Request) -> Response {
    let body = ResponseBody { writer in
        try await request.body.consumeWithCancellationOnInboundClose { _ in
            for try await reply in replies.cancelOnGracefulShutdown() {
                try await writer.write(ByteBuffer(string: "data: " + String(decoding: JSONEncoder().encode(reply), as: UTF8.self) + "\n\n"))
            }
        }
        try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-cache"], body: body)
}
