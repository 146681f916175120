import Coordinators

/// Keeps the thumbnails that were asked for last, and has the renderers make the others.
actor CacheCoordinator: Coordinator {
    private struct Key: Hashable {
        let picture: [UInt8]
        let width: Int
    }

    static let responders: Responders = [.respond(to: Thumbnail.Make.self) { me, make in try await me.make(make) }]

    private static let capacity = 256

    let context: Context
    private var thumbnails: [Key: [UInt8]] = [:]
    private var keys: [Key] = []

    init(_ context: Context) { self.context = context }

    private func make(_ make: Thumbnail.Make) async throws -> [UInt8] {
        let key = Key(picture: make.picture, width: make.width)
        if let thumbnail = thumbnails[key] { return thumbnail }
        // Ends with the asker's patience, which cancels this handler.
        let thumbnail = try await context.ask(Thumbnail.Render(picture: make.picture, width: make.width))
        // Another ask may have brought the same one meanwhile.
        if thumbnails.updateValue(thumbnail, forKey: key) == nil { keys.append(key) }
        if keys.count > Self.capacity { thumbnails[keys.removeFirst()] = nil }
        return thumbnail
    }
}
