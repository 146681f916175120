import Control
import Glibc
import Processes

/// A reader of one child's log from file to file, which may be rotated meanwhile.
///
/// It has one file open at a time. Reading may block: it belongs on a thread of its own.
struct LogCursor {
    /// A file, whatever its name.
    private struct Identity: Equatable {
        let device: dev_t
        let number: ino_t

        init(_ status: stat) { (device, number) = (status.st_dev, status.st_ino) }
    }

    /// The file that is read.
    private struct Source {
        let descriptor: Int32
        let identity: Identity
        var offset = 0
    }

    /// What is read last: the file that was the present one when the reading was bounded, up to its size then.
    private struct End {
        /// nil: there was none.
        var file: Identity?
        var size = 0
    }

    private static let blockSize = 64 << 10
    /// The length of the longest entry; what has no line ends for longer is taken as one.
    private static let entryLimit = 256 << 10

    /// What is known of the entries of a file, whatever they say.
    struct Origin {
        let path: String
        /// Whether the entries are lines as the child has written them.
        var isRaw = false
        /// Whether other children have entries in the file.
        var isShared = false
    }

    let origin: Origin
    var path: String { origin.path }
    let file: String
    let keep: Int
    /// The time at which the reading began, after which no raw line is that it finds at first.
    private let beginning = Timestamp.now
    /// Whether everything has been read that was there at first.
    private var isFollowing = false
    private var source: Source?
    /// Where the reading ends; nil: it goes on with whatever comes.
    private var end: End?
    /// The bytes that were read; those from `position` on aren't used yet.
    private var buffer: [UInt8] = []
    private var position = 0
    /// The files that aren't read because another user has a hand in them, and the warnings about them that aren't sent yet.
    private var (refused, untold): (Set<String>, [String]) = ([], [])
    /// The time of the latest entry with one.
    private(set) var time = ""

    init(path: String, file: String, keep: Int) { self.init(Origin(path: path), file: file, keep: keep) }

    init(_ origin: Origin, file: String, keep: Int) {
        self.origin = origin
        self.file = file
        self.keep = keep
    }

    /// Has the reading end with what the files have now: a child may write faster than an operator reads.
    mutating func bound() {
        end = End()
        // Upwards: a file that is renamed meanwhile is found at two numbers, never at none.
        for number in 0...keep {
            guard let status = status(number: number) else { continue }
            end = End(file: Identity(status), size: Int(status.st_size))
            return
        }
    }

    /// Has the reading go on with what is written later.
    mutating func unbound() { end = nil }

    /// Closes the open file; nothing else does.
    mutating func close() {
        if let source { Glibc.close(source.descriptor) }
        source = nil
    }

    /// An entry, or the note that some are missing.
    enum Next {
        case entry(ArraySlice<UInt8>, time: String)
        case gap(String)
    }

    /// Returns the next entry; nil when there is none at the moment.
    mutating func next() -> Next? {
        while true {
            if !untold.isEmpty { return .gap(untold.removeFirst()) }
            if let entry = takeEntry() {
                if !origin.isRaw, let time = LogEntry.time(of: entry) { self.time = String(decoding: time, as: UTF8.self) }
                return .entry(entry, time: time)
            }
            if source == nil {
                guard openOldest() || !untold.isEmpty else { return nil }
                continue
            }
            if fill() { continue }
            switch proceed() {
            case .sameFile where untold.isEmpty:
                isFollowing = true
                return nil
            case .sameFile: continue
            case .nextFile: continue
            case .lost: return .gap("the file that was read has been removed, perhaps with others")
            }
        }
    }

    /// Goes back to the beginning of the oldest file.
    mutating func rewind() {
        close()
        (buffer, position, time, isFollowing) = ([], 0, "", false)
        (refused, untold) = ([], [])
    }

    private mutating func takeEntry() -> ArraySlice<UInt8>? {
        guard position < buffer.count else { return nil }
        let rest = buffer[position...]
        if let end = LogLines.newline(in: rest) {
            defer { position = end + 1 }
            return rest[..<end]
        }
        guard rest.count >= Self.entryLimit else { return nil }
        position = buffer.count
        return rest
    }

    /// Reads more of the open file.
    ///
    /// - Returns: whether there was more.
    private mutating func fill() -> Bool {
        guard var source else { return false }
        var status = stat()
        if fstat(source.descriptor, &status) == 0, status.st_size < source.offset {
            // Another program has emptied the file.
            (source.offset, buffer, position) = (0, [], 0)
            if end?.file == source.identity { end?.size = 0 }
        }
        let limit = end?.file == source.identity ? max(0, (end?.size ?? 0) - source.offset) : Self.blockSize
        if position > 0 {
            buffer.removeFirst(position)
            position = 0
        }
        let former = buffer.count
        buffer += [UInt8](repeating: 0, count: Self.blockSize)
        let count = buffer.withUnsafeMutableBytes { bytes in
            pread(source.descriptor, bytes.baseAddress?.advanced(by: former), min(limit, Self.blockSize), source.offset)
        }
        buffer.removeLast(Self.blockSize - max(0, count))
        source.offset += max(0, count)
        if count > 0, isFollowing { noteTime(of: source.descriptor) }
        self.source = source
        return count > 0
    }

    private enum Step {
        case sameFile, nextFile, lost
    }

    /// Goes on to the next file, when the open one isn't the present one any more and has been read to its end.
    private mutating func proceed() -> Step {
        guard let source, source.identity != end?.file else { return .sameFile }
        // The present file last: a file that is renamed meanwhile is found at two names, never at none.
        guard identity(number: 0).map({ $0 != source.identity }) ?? true else { return .sameFile }
        // It may have grown between the last reading and its renaming.
        if fill() { return .nextFile }
        guard let number = (1...max(1, keep)).first(where: { identity(number: $0) == source.identity }) else {
            guard identity(number: 0) != nil else { return .sameFile }
            close()
            (buffer, position) = ([], 0)
            return openOldest() || end != nil ? .lost : .sameFile
        }
        // The next one may not have been made yet.
        guard identity(number: number - 1) != nil, open(number: number - 1) else { return .sameFile }
        guard identity(number: number) == source.identity else {
            // The files were rotated before the next one was opened, so that it may be a later one.
            close()
            self.source = source
            return .nextFile
        }
        guard let next = self.source, isWithin(next.identity) else {
            close()
            self.source = source
            return .sameFile
        }
        Glibc.close(source.descriptor)
        (buffer, position) = ([], 0)
        return .nextFile
    }

    /// Whether a file isn't younger than the one that is read last.
    private mutating func isWithin(_ file: Identity) -> Bool {
        guard let end else { return true }
        guard file != end.file else { return true }
        // Upwards, as they are renamed: of the two, the younger one is found first.
        for number in 0...keep {
            let found = identity(number: number)
            if found == file { return false }
            if found != nil, found == end.file { return true }
        }
        return false
    }

    /// Opens the oldest file, unless the reading ends before it.
    private mutating func openOldest() -> Bool {
        var number = oldest()
        while open(number: number), let opened = source {
            if isWithin(opened.identity) { return true }
            close()
            // The files may have been rotated before the oldest one was opened.
            let oldest = oldest()
            guard oldest > number else { return false }
            number = oldest
        }
        return false
    }

    private mutating func oldest() -> Int {
        for number in stride(from: keep, to: 0, by: -1) where identity(number: number) != nil { return number }
        return 0
    }

    private mutating func identity(number: Int) -> Identity? { status(number: number).map { Identity($0) } }

    /// Returns what a regular file is; nil when there is none, or it isn't shown.
    private mutating func status(number: Int) -> stat? {
        do throws(FilePlace.Failure) {
            let status = try FilePlace(LogFile.path(file, number: number), for: .shownLog).status()
            return status.st_mode & S_IFMT == S_IFREG ? status : nil
        } catch {
            refuse(number, error)
            return nil
        }
    }

    /// Keeps in mind that a file isn't shown, which is told once.
    private mutating func refuse(_ number: Int, _ failure: FilePlace.Failure) {
        guard failure.isUnsafe else { return }
        let text = "\(LogFile.path(file, number: number)) isn't shown: \(failure)"
        if refused.insert(text).inserted { untold.append(text) }
    }

    private mutating func open(number: Int) -> Bool {
        let descriptor: Int32
        do throws(FilePlace.Failure) {
            descriptor = try FilePlace(LogFile.path(file, number: number), for: .shownLog).open()
        } catch {
            refuse(number, error)
            return false
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            Glibc.close(descriptor)
            return false
        }
        source = Source(descriptor: descriptor, identity: Identity(status))
        noteTime(of: descriptor)
        return true
    }

    /// Notes the time at which a raw file was last written: its lines have none, and aren't later than that.
    private mutating func noteTime(of descriptor: Int32) {
        var status = stat()
        guard origin.isRaw, fstat(descriptor, &status) == 0 else { return }
        let written = Timestamp.text(microseconds: Int64(status.st_mtim.tv_sec) * 1_000_000 + Int64(status.st_mtim.tv_nsec) / 1000)
        // What is written during the reading isn't later than its beginning for the reader that doesn't follow.
        time = isFollowing ? written : min(written, beginning)
    }
}
