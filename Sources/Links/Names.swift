import WireProtocol

/// How many names one direction of a link may have at a time; older ones make room for newer ones.
private let capacity = 65_536

/// The names that this end has defined to the other.
struct OutboundNames {
    enum Interned {
        case known(NameID)
        /// `replacing`: the id had another meaning before.
        case new(NameID, replacing: Bool)
    }

    private var ids: [String: NameID] = [:]
    private var texts: [String] = []
    private var oldest = 0

    mutating func intern(_ text: String) -> Interned {
        if let id = ids[text] { return .known(id) }
        if texts.count < capacity {
            texts.append(text)
            let id = NameID(texts.count)
            ids[text] = id
            return .new(id, replacing: false)
        }
        ids[texts[oldest]] = nil
        texts[oldest] = text
        let id = NameID(oldest + 1)
        ids[text] = id
        oldest = (oldest + 1) % capacity
        return .new(id, replacing: true)
    }
}

/// The names that the other end has defined to this one.
struct InboundNames {
    private var texts: [String] = []

    func text(of name: NameID) -> String? {
        let index = Int(name) - 1
        return texts.indices.contains(index) ? texts[index] : nil
    }

    /// Ids are given out from 1 upwards without gaps, and may be given a new meaning later.
    ///
    /// - Returns: false when the id is out of that order.
    mutating func define(_ definition: DefineName) -> Bool {
        let index = Int(definition.id) - 1
        if index == texts.count, index < capacity {
            texts.append(definition.text)
            return true
        }
        guard texts.indices.contains(index) else { return false }
        texts[index] = definition.text
        return true
    }
}
