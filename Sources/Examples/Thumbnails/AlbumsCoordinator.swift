import Coordinators

/// The messages about albums: many pictures whose thumbnails nobody waits for.
enum Album {
    struct Submit: ResponderMessage {
        typealias Reply = Int

        var pictures: [[UInt8]]
        var width: Int
    }

    /// How far an album is.
    struct Progress: ResponderMessage {
        typealias Reply = Count

        var album: Int
    }

    struct Count: Codable, Sendable, Equatable {
        var made = 0
        var failed = 0
        var left = 0
    }
}

/// Works through albums, one picture after the other, in its `run` hook.
actor AlbumsCoordinator: Coordinator {
    static let responders: Responders = [
        .respond(to: Album.Submit.self) { me, submit in try me.submit(submit) },
        .respond(to: Album.Progress.self) { me, progress in me.albums[progress.album] ?? Album.Count() },
    ]

    let context: Context
    private var albums: [Int: Album.Count] = [:]
    private let (jobs, queue) = AsyncStream.makeStream(of: (number: Int, submit: Album.Submit).self, bufferingPolicy: .bufferingOldest(64))

    init(_ context: Context) { self.context = context }

    /// Ends with the last job when the coordinator stops: a picture that has begun is waited for by its deadline.
    func run() async throws {
        for await (number, submit) in jobs {
            for picture in submit.pictures {
                do {
                    _ = try await context.ask(Thumbnail.Make(picture: picture, width: submit.width), timeout: .seconds(1))
                    albums[number]?.made += 1
                } catch {
                    // A picture that ends its renderer fails alone: the album goes on.
                    albums[number]?.failed += 1
                }
                albums[number]?.left -= 1
            }
        }
    }

    private func submit(_ submit: Album.Submit) throws -> Int {
        let number = albums.count + 1
        guard case .enqueued = queue.yield((number, submit)) else {
            throw CoordinatorError(.mailboxFull, "as many albums wait as may")
        }
        albums[number] = Album.Count(left: submit.pictures.count)
        return number
    }
}
