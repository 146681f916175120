import ConcurrencySupport
package import Links

extension CoordinatorRuntime {
    /// Has messages for children of the root that a cluster places go to the nodes that have them; called once, before the start.
    package func route(by children: any PlacedChildren) {
        _ = core.nodes.storeIfNil(NodeRouter(children, core) { [weak self] in try? self?.root })
    }

    /// Exchanges messages with another node on a link that it has made, until the link has closed.
    package func exchangeMessages(on link: Link, with node: String) async {
        guard let router = core.nodes.load() else { return link.close() }
        await router.use(link, to: node)
    }

    /// Ends the links to other nodes, and the messages that wait for them.
    package func endNodes() async { await core.nodes.load()?.end() }
}
