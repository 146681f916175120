import WireProtocol

/// The number of names that one direction of a link may have; beyond it the oldest names are replaced.
private let capacity = 65_536

/// The names that this end has defined to the other.
struct OutboundNames {
    private static let recentLimit = 4

    enum Interned {
        case known(NameID)
        /// The name has just got a number that had no meaning before.
        case new(NameID)
        /// All numbers have a meaning.
        case full
    }

    private var ids: [String: NameID] = [:]
    private var texts: [String] = []
    private var oldest = 0
    /// The number of names that have been replaced.
    private(set) var replacements = 0
    /// The names that were used last: most messages have the sender and the name of the one before, and texts that share their memory are
    /// compared at once.
    private var recent: [(text: String, id: NameID)] = []
    private var leastRecent = 0

    mutating func intern(_ text: String) -> Interned {
        for known in recent where known.text == text { return .known(known.id) }
        let interned = look(up: text)
        switch interned {
        case .known(let id), .new(let id): remember(text, id)
        case .full: break
        }
        return interned
    }

    private mutating func remember(_ text: String, _ id: NameID) {
        guard recent.count == Self.recentLimit else { return recent.append((text, id)) }
        recent[leastRecent] = (text, id)
        leastRecent = (leastRecent + 1) % Self.recentLimit
    }

    private mutating func look(up text: String) -> Interned {
        if let id = ids[text] { return .known(id) }
        if texts.count < capacity {
            texts.append(text)
            let id = NameID(texts.count)
            ids[text] = id
            return .new(id)
        }
        return .full
    }

    /// Gives a name the number of the oldest one that isn't in use.
    ///
    /// - Returns: The number; `nil` when all are in use.
    mutating func replace(with text: String, unless isInUse: (NameID) -> Bool) -> NameID? {
        for _ in 0..<capacity {
            let index = oldest
            oldest = (oldest + 1) % capacity
            if isInUse(NameID(index + 1)) { continue }
            ids[texts[index]] = nil
            texts[index] = text
            ids[text] = NameID(index + 1)
            recent = []
            replacements += 1
            return NameID(index + 1)
        }
        return nil
    }
}

/// The names that the other end has defined to this one.
struct InboundNames {
    private var texts: [String] = []

    func text(of name: NameID) -> String? {
        if name == 0 { return "" }
        let index = Int(name) - 1
        return texts.indices.contains(index) ? texts[index] : nil
    }

    /// Takes a definition.
    ///
    /// Numbers are assigned from 1 upwards without gaps, and may be defined again.
    ///
    /// - Returns: false when the number is out of that order.
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
