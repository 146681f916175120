import Glibc
import Processes

/// The place that telemetry is exported to.
public struct TelemetryDestination: Sendable, Hashable {
    /// An endpoint that telemetry can't be sent to.
    public struct InvalidEndpoint: Error, Hashable, CustomStringConvertible {
        /// The explanation, with what is expected.
        public let description: String
    }

    enum Place: Sendable, Hashable {
        case file(String)
        case endpoint(HTTPEndpoint)
    }

    let place: Place

    /// A file of requests in OTLP/JSON, one a line, as the file exporter of OpenTelemetry's collector writes them.
    ///
    /// The file is opened anew for each request, so that it can be rotated by renaming, and is made with the permissions 0640.
    ///
    /// - Parameter path: The path of the file, whose directory exists.
    public static func file(_ path: String) -> TelemetryDestination { TelemetryDestination(place: .file(path)) }

    /// A receiver of OTLP/JSON by HTTP POST, such as OpenTelemetry's collector.
    ///
    /// - Parameter address: `http://HOST[:PORT][/PATH]`: the port is 4318 by default, and the path `/v1/traces` or `/v1/metrics`. There is no
    ///   https; a collector on the same machine sends on to other places.
    /// - Throws: ``InvalidEndpoint`` when the address has another form.
    public static func endpoint(_ address: String) throws(InvalidEndpoint) -> TelemetryDestination {
        do throws(HTTPEndpoint.InvalidAddress) {
            return TelemetryDestination(place: .endpoint(try HTTPEndpoint(address, defaultPort: 4318)))
        } catch {
            throw InvalidEndpoint(description: error.description)
        }
    }

    /// Writes or sends a request, and waits for the end of that.
    ///
    /// - Parameter defaultPath: The path of an endpoint whose address has none.
    func send(_ request: [UInt8], defaultPath: String) throws(ExportFailure) {
        switch place {
        case .file(let path): try Self.append(request + [UInt8(ascii: "\n")], to: path)
        case .endpoint(let endpoint):
            do throws(HTTPEndpoint.Failure) {
                try endpoint.post(request, defaultPath: defaultPath)
            } catch {
                throw ExportFailure(error.description)
            }
        }
    }

    /// Appends a request to a file: all of it, or nothing, so that each line stays one request.
    private static func append(_ request: [UInt8], to path: String) throws(ExportFailure) {
        let descriptor: Int32
        do throws(FilePlace.Failure) { descriptor = try FilePlace(path, for: .telemetry).open() } catch {
            throw ExportFailure("\(path): \(error)")
        }
        defer { close(descriptor) }
        let size = size(of: descriptor)
        let bytes = size.map { endsInLine(descriptor, at: $0) } == true ? [UInt8(ascii: "\n")] + request : request
        var rest = bytes[...]
        while !rest.isEmpty {
            // Unsafe: write(2) reads the bytes that it's told the number of.
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                let failure = ExportFailure("\(path): \(String(cString: strerror(errno)))")
                let written = bytes.count - rest.count
                // What another one has written meanwhile isn't cut off.
                if let size, written > 0, self.size(of: descriptor) == size + written { _ = ftruncate(descriptor, size) }
                throw failure
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the size of a regular file.
    private static func size(of descriptor: Int32) -> Int? {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? status.st_size : nil
    }

    /// Whether a file of some size ends in the middle of a line, as one whose writer was killed.
    private static func endsInLine(_ descriptor: Int32, at size: Int) -> Bool {
        guard size > 0 else { return false }
        // Opened anew, because the descriptor can only be written to. One that may not be read is taken as whole.
        let reader = open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
        guard reader >= 0 else { return false }
        defer { close(reader) }
        var last: UInt8 = 0
        return pread(reader, &last, 1, size - 1) == 1 && last != UInt8(ascii: "\n")
    }
}

/// The reason why a request was lost.
struct ExportFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
