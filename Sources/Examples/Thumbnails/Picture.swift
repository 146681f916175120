import Coordinators

/// A picture in shades of grey.
///
/// Its bytes are a line, `width height step comment`, and a byte for each pixel. The decoder is as bad as those of real formats have been: it
/// believes what a picture says of itself.
struct Picture {
    /// The reason why bytes aren't a picture.
    enum Problem: ResponderError, Equatable {
        case noHeader
        case tooWide
    }

    private let width: Int
    private let height: Int
    private var pixels: [UInt8]

    /// What comments have occupied, and is never given back.
    ///
    /// Unsafe: a renderer decodes one picture at a time, and nothing reads this.
    nonisolated(unsafe) private static var comments: [[UInt8]] = []

    init(decoding bytes: [UInt8]) throws(Problem) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { throw .noHeader }
        let fields = bytes[..<end].split(separator: UInt8(ascii: " ")).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        guard fields.count == 4, fields.allSatisfy({ $0 >= 0 }) else { throw .noHeader }
        (width, height) = (fields[0], fields[1])
        guard width <= 4_096, height <= 4_096 else { throw .tooWide }
        let (step, comment) = (fields[2], fields[3])
        // A comment of so many megabytes, which leak.
        if comment > 0 { Self.comments.append([UInt8](repeating: 1, count: comment << 20)) }
        pixels = [UInt8](repeating: 0, count: width * height)
        var row = 0
        // With a step of 0 this never ends, and no cancellation is looked at.
        while row < height {
            // Fewer pixels than the header says are an index out of range, which ends the process.
            for column in 0..<width { pixels[row * width + column] = bytes[end + 1 + row * width + column] }
            row += step
        }
    }

    /// Returns the picture with another width, each of whose pixels is the mean of those that it stands for.
    func scaled(to newWidth: Int) -> [UInt8] {
        let width = min(max(newWidth, 1), max(self.width, 1))
        let factor = max(self.width / width, 1)
        var small = Array("\(width) \(height / factor) 1 0\n".utf8)
        for row in 0..<(height / factor) {
            for column in 0..<width {
                var sum = 0
                for y in 0..<factor { for x in 0..<factor { sum += Int(pixels[(row * factor + y) * self.width + column * factor + x]) } }
                small.append(UInt8(sum / (factor * factor)))
            }
        }
        return small
    }
}
