/// The event stream by which a browser follows the tree.
struct TreeStream {
    /// The most bytes that are written before it's noted that the browser has taken something.
    private static let partSize = 64 << 10

    let feed: Feed

    /// Returns the stream; the browser names the position that it had, in the header when it has connected again by itself.
    func response(to request: HTTPRequest) async throws(Refusal) -> HTTPResponse {
        guard let (id, ticks) = await feed.open(close: request.exchange.close) else {
            throw Refusal(.tooManyRequests, "tooManyStreams", "too many browsers follow the tree; close one")
        }
        let start = StreamPosition(request[.lastEventID] ?? Parameters(request).text("position"), epoch: feed.epoch)
        var response = HTTPResponse.text(
            .ok,
            "text/event-stream",
            .stream { [feed] write in
                var position = start
                do {
                    try await write(Array("retry: 2000\n\n".utf8))
                    for await _ in ticks {
                        // A reader that is slow is waited for here, and gets the latest of each row when it is back.
                        var rest = Array(await feed.news(for: id, &position).utf8)[...]
                        while !rest.isEmpty {
                            try await write(Array(rest.prefix(Self.partSize)))
                            rest = rest.dropFirst(Self.partSize)
                            await feed.hasTaken(id, all: rest.isEmpty)
                        }
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
