/// A container that assigns a number to each element. It is as fast as an array, and half the size of a dictionary.
struct SlotMap<Element> {
    private struct Slot {
        var serial: UInt32
        var element: Element?
    }

    private var slots: [Slot] = []
    private var free: [UInt32] = []
    private var serial: UInt32 = 0

    var count: Int { slots.count - free.count }
    var isEmpty: Bool { count == 0 }

    /// All elements, unordered.
    var elements: some Sequence<Element> { slots.lazy.compactMap(\.element) }

    /// Adds an element and returns its number. Numbers repeat only after 2^32 additions.
    mutating func add(_ element: Element) -> SlotNumber {
        serial &+= 1
        let slot = Slot(serial: serial, element: element)
        if let index = free.popLast() {
            slots[Int(index)] = slot
            return SlotNumber(index: index, serial: serial)
        }
        slots.append(slot)
        return SlotNumber(index: UInt32(slots.count - 1), serial: serial)
    }

    /// The element with a number; `nil` if it was removed. Setting has no effect if there is no element.
    subscript(number: SlotNumber) -> Element? {
        get { contains(number) ? slots[Int(number.index)].element : nil }
        set { if contains(number), let newValue { slots[Int(number.index)].element = newValue } }
    }

    mutating func remove(_ number: SlotNumber) -> Element? {
        guard contains(number), let element = slots[Int(number.index)].element else { return nil }
        slots[Int(number.index)].element = nil
        free.append(number.index)
        // Frees the memory of the peak.
        if isEmpty {
            slots = []
            free = []
        }
        return element
    }

    private func contains(_ number: SlotNumber) -> Bool {
        let index = Int(number.index)
        // Accessed in place, without copying the element.
        return index < slots.count && slots[index].serial == number.serial && slots[index].element != nil
    }
}

/// The number of an element in a ``SlotMap``.
struct SlotNumber: Hashable {
    fileprivate let index: UInt32
    fileprivate let serial: UInt32
}
