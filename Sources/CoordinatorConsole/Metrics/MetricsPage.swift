import Control
import Hummingbird

/// The metrics of the daemon's tree and of the console itself.
struct MetricsPage {
    let daemon: DaemonConnection
    let feed: Feed

    func response() async throws -> Response {
        var page = PrometheusText()
        page.begin("coordinator_console_daemon_up", "gauge", help: "Whether the daemon answered this scrape.")
        do {
            let tree = try ControlJSON.decode(TreeNode.self, from: try await daemon.answer(to: .tree).value)
            page.add("coordinator_console_daemon_up", 1)
            page.add(tree)
        } catch {
            page.add("coordinator_console_daemon_up", 0)
        }
        page.begin("coordinator_console_streams", "gauge", help: "Browsers that follow the tree.")
        page.add("coordinator_console_streams", Double(await feed.viewerCount))
        return .text(.ok, PrometheusText.mediaType, ResponseBody(byteBuffer: ByteBuffer(string: page.text)))
    }
}

extension PrometheusText {
    /// Adds what the tree itself tells.
    fileprivate mutating func add(_ tree: TreeNode) {
        let nodes = tree.all
        func family(_ name: String, _ kind: String, _ help: String, _ value: (TreeNode) -> Double?) {
            begin(name, kind, help: help)
            for node in nodes { if let number = value(node) { add(name, number, [("path", node.path)]) } }
        }
        family("coordinator_restarts_total", "counter", "Restarts by the supervisor.") { Double($0.restarts) }
    }
}

extension TreeNode {
    fileprivate var all: [TreeNode] { [self] + children.flatMap(\.all) }
}
