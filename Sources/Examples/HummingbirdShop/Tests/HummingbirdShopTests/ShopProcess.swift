import Foundation
import FoundationNetworking

/// The shop as a process, on a port of loopback that the kernel has chosen.
final class ShopProcess: Sendable {
    struct Response: Sendable {
        let status: Int
        let retryAfter: String?
        let body: Data

        var json: NSDictionary? { try? JSONSerialization.jsonObject(with: body) as? NSDictionary }
    }

    /// Each test uses its own from one task at a time.
    nonisolated(unsafe) let process = Process()
    private let address: String
    private let session = URLSession(configuration: .ephemeral)

    init() throws {
        let log = Pipe()
        process.executableURL = Bundle.main.bundleURL.appendingPathComponent("HummingbirdShop")
        process.environment = ProcessInfo.processInfo.environment.merging(["PORT": "0"]) { $1 }
        process.standardError = log
        try process.run()
        address = try Self.address(in: log.fileHandleForReading)
        // The log must be read on, or the shop would wait for room in the pipe.
        log.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    func get(_ path: String) async throws -> Response { try await response(to: "GET", path, [:]) }

    func post(_ path: String, _ headers: [String: String] = [:]) async throws -> Response { try await response(to: "POST", path, headers) }

    /// Sends requests from several clients at once, and returns all responses.
    func flood(clients: Int, requests: Int) async throws -> [Response] {
        try await withThrowingTaskGroup(of: [Response].self) { group in
            for _ in 0..<clients {
                group.addTask {
                    var responses: [Response] = []
                    for _ in 0..<requests { responses.append(try await self.get("/cart")) }
                    return responses
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    func waitForPayment() async throws {
        for _ in 0..<2_000 {
            if try await get("/cart").json?["payments"] as? Int == 1 { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw NoPayment()
    }

    /// Returns what the server sends as events, as it arrives; ends when the server ends the response.
    func events(_ path: String) -> AsyncThrowingStream<String, any Error> {
        AsyncThrowingStream { continuation in
            // With a delegate of the session: that of a task isn't told of data here.
            let session = URLSession(configuration: .ephemeral, delegate: EventReader(continuation), delegateQueue: nil)
            session.dataTask(with: URL(string: address + path)!).resume()
            session.finishTasksAndInvalidate()
        }
    }

    /// The processes whose parent is the shop.
    var workers: [pid_t] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(pid_t.init).filter { candidate in
                guard let status = try? String(contentsOfFile: "/proc/\(candidate)/status", encoding: .utf8) else { return false }
                return status.contains("\nPPid:\t\(process.processIdentifier)\n")
            }
        }
    }

    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    private func response(to method: String, _ path: String, _ headers: [String: String]) async throws -> Response {
        var request = URLRequest(url: URL(string: address + path)!)
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (body, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return Response(status: response.statusCode, retryAfter: response.value(forHTTPHeaderField: "Retry-After"), body: body)
    }

    /// Reads the log up to the line that names the address.
    private static func address(in log: FileHandle) throws -> String {
        var text = ""
        while true {
            let data = log.availableData
            if data.isEmpty { throw NotStarted(log: text) }
            text += String(decoding: data, as: UTF8.self)
            // The last line may not be whole yet.
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            guard let port = lines.first(where: { $0.contains("listening on") })?.split(separator: ":").last else { continue }
            return "http://127.0.0.1:\(port)"
        }
    }
}

/// Runs the shop for the length of a test.
func withShop(_ body: (ShopProcess) async throws -> Void) async throws {
    let shop = try ShopProcess()
    defer { shop.stop() }
    try await body(shop)
}

private final class EventReader: NSObject, URLSessionDataDelegate {
    private let continuation: AsyncThrowingStream<String, any Error>.Continuation

    init(_ continuation: AsyncThrowingStream<String, any Error>.Continuation) { self.continuation = continuation }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        continuation.yield(String(decoding: data, as: UTF8.self))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        continuation.finish(throwing: error)
    }
}

struct NotStarted: Error { let log: String }
struct NoPayment: Error {}
