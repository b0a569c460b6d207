/// Values under numbers that the map gives out: as fast as an array, and half as large as a dictionary.
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

    /// All elements, in no order.
    var elements: some Sequence<Element> { slots.lazy.compactMap(\.element) }

    /// - Returns: the number of the element. No other element gets the same number before 4,000 million additions.
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

    /// The element under a number; `nil` where it was removed. Setting has no effect where there is no element.
    subscript(number: SlotNumber) -> Element? {
        get { isThere(number) ? slots[Int(number.index)].element : nil }
        set { if isThere(number), let newValue { slots[Int(number.index)].element = newValue } }
    }

    mutating func remove(_ number: SlotNumber) -> Element? {
        guard isThere(number), let element = slots[Int(number.index)].element else { return nil }
        slots[Int(number.index)].element = nil
        free.append(number.index)
        // Memory of the busiest moment is given back.
        if isEmpty { (slots, free) = ([], []) }
        return element
    }

    private func isThere(_ number: SlotNumber) -> Bool {
        let index = Int(number.index)
        // In place: elements are not copied for it.
        return index < slots.count && slots[index].serial == number.serial && slots[index].element != nil
    }
}

/// The place of an element in a ``SlotMap``.
struct SlotNumber: Hashable {
    fileprivate let index: UInt32
    fileprivate let serial: UInt32
}
