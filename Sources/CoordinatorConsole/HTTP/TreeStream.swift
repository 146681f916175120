import HTTPTypes
import Hummingbird
import NIOCore

/// The event stream by which a browser follows the tree.
struct TreeStream {
    let feed: Feed

    /// Returns the stream; the browser names the position that it had.
    func response(to request: Request, _ context: ConsoleRequestContext) async throws(Refusal) -> Response {
        let channel = context.channel
        guard let (id, ticks) = await feed.open(close: { channel.close(promise: nil) }) else {
            throw Refusal(.tooManyRequests, "tooManyStreams", "too many browsers follow the tree; close one")
        }
        // Also when the browser goes before the first byte is written.
        channel.closeFuture.whenComplete { [feed] _ in Task { await feed.leave(id) } }
        let position = StreamPosition(HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }, epoch: feed.epoch)
        let body = ResponseBody { [feed] writer in
            var position = position
            try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
            for await _ in ticks {
                // A reader that is slow is waited for here, and gets the latest of each row when it is back.
                try await writer.write(ByteBuffer(string: await feed.news(for: id, &position)))
            }
            await feed.leave(id)
            try await writer.finish(nil)
        }
        var response = Response.text(.ok, "text/event-stream", body)
        if let name = HTTPField.Name("X-Accel-Buffering") { response.headers[name] = "no" }
        return response
    }
}
