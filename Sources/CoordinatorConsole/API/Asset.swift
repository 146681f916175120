import CConsoleAssets

/// A file of the page.
struct Asset: Sendable {
    let mediaType: String
    let body: [UInt8]
    /// The name of this content, for browsers that have it already.
    let tag: String

    /// The files by the paths at which they are served.
    static let all: [String: Asset] = {
        var count = 0
        guard let assets = coordinator_console_assets(&count) else { return [:] }
        // Unsafe: the array is the program's own, and constant.
        let pairs = UnsafeBufferPointer(start: assets, count: count).map { asset in
            let bytes = UnsafeBufferPointer(start: asset.bytes, count: asset.count)
            return (String(cString: asset.path), Asset(mediaType: String(cString: asset.media_type), bytes: Array(bytes)))
        }
        let description = ("/openapi.json", Asset(mediaType: "application/json", bytes: OpenAPI.document))
        return Dictionary(pairs + [description]) { first, _ in first }
    }()

    private init(mediaType: String, bytes: [UInt8]) {
        self.mediaType = mediaType
        body = bytes
        // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/: two versions of a file differ, and no one gains by making them collide.
        tag = "\"\(String(bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16))\""
    }
}
