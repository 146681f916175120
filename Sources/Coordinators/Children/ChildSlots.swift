import ConcurrencySupport

/// The slots of a coordinator's children, by key.
///
/// Each is kept apart, and changed where it is: a table of a hundred thousand has as many empty places, and they shall be small.
struct ChildSlots: Sendable {
    private var boxes: [String: Box<ChildSlot?>] = [:]

    var all: [ChildSlot] { boxes.values.compactMap(\.value) }

    subscript(key: String) -> ChildSlot? {
        _read {
            if let box = boxes[key] { yield box.value } else { yield nil }
        }
        _modify {
            if let box = boxes[key] {
                defer { if box.value == nil { boxes[key] = nil } }
                yield &box.value
            } else {
                var new: ChildSlot?
                defer { if new != nil { boxes[key] = Box(new) } }
                yield &new
            }
        }
    }

    mutating func remove(_ key: String) -> ChildSlot? { boxes.removeValue(forKey: key)?.value }

    mutating func removeAll() { boxes = [:] }
}
