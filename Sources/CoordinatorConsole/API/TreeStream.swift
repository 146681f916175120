/// The event stream by which a browser follows the tree.
struct TreeStream {
    let feed: Feed

    /// Returns the stream; the browser names the position that it had.
    func response(to request: HTTPRequest) async throws(Refusal) -> HTTPResponse {
        guard let (id, ticks) = await feed.open(close: request.exchange.close) else {
            throw Refusal(.tooManyRequests, "tooManyStreams", "too many browsers follow the tree; close one")
        }
        let start = StreamPosition(request[.lastEventID], epoch: feed.epoch)
        var response = HTTPResponse.text(
            .ok,
            "text/event-stream",
            .stream { [feed] write in
                var position = start
                do {
                    try await write(Array("retry: 2000\n\n".utf8))
                    for await _ in ticks {
                        // A reader that is slow is waited for here, and gets the latest of each row when it is back.
                        try await write(Array(await feed.news(for: id, &position).utf8))
                    }
                } catch {}
                // Also when the browser has gone before the first byte was written.
                await feed.leave(id)
            }
        )
        response.headers[.xAccelBuffering] = "no"
        return response
    }
}
