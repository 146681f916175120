import Coordinators

/// A thumbnail service without its HTTP server: pictures of strangers, which may crash, hang or fill the process that decodes them.
@main
struct Thumbnails {
    static func main() async throws {
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [RendererCoordinator.self])
        let runtime = CoordinatorRuntime(ThumbnailCoordinator.self)
        try await runtime.start()
        for (name, picture) in Sample.all {
            do {
                let thumbnail = try await runtime.ask(Thumbnail.Make(picture: picture, width: 8), timeout: .seconds(2))
                print("\(name): \(thumbnail.count) bytes")
            } catch {
                print("\(name): \(Thumbnail.status(of: error).code)")
            }
        }
        await runtime.stop()
    }
}

/// Pictures to play with.
enum Sample {
    static let all: [(name: String, picture: [UInt8])] = [
        ("good", good(1)), ("no picture", Array("GIF89a".utf8)), ("too short", short), ("good again", good(2)),
    ]

    /// A picture of 64 by 64 pixels, another one for each number.
    static func good(_ number: Int) -> [UInt8] {
        Array("64 64 1 0\n".utf8) + (0..<4_096).map { UInt8(truncatingIfNeeded: ($0 &* 7) ^ (number >> ($0 % 24))) }
    }

    /// One that ends its renderer.
    static let short = Array("64 64 1 0\n".utf8)
    /// One that its renderer never finishes.
    static let endless = Array("64 64 0 0\n".utf8) + [UInt8](repeating: 0, count: 4_096)

    /// One whose comment stays in its renderer's memory.
    static func leaking(megabytes: Int, step: Int = 1) -> [UInt8] {
        Array("64 64 \(step) \(megabytes)\n".utf8) + [UInt8](repeating: 0, count: 4_096)
    }
}
