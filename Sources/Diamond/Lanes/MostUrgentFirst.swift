/// A queue that the most urgent element leaves first; among equals, the first to arrive. An element that waits long
/// becomes more urgent (``Urgency/aging``). Appending and removing take constant time.
struct MostUrgentFirst<Element> {
    private typealias Line = FIFOQueue<(element: Element, urgency: Urgency)>

    /// The elements by priority, the lowest first. The first of each line is its most urgent.
    private var lines = Array(repeating: Line(), count: RequestPriority.allCases.count)
    private var arrived = 0
    private var begun = 0

    var count: Int { arrived - begun }

    mutating func append(_ element: Element, priority: RequestPriority) {
        arrived += 1
        lines[priority.rawValue].append((element, Urgency(priority, begun: begun, arrival: arrived)))
    }

    mutating func popFirst() -> Element? {
        var first: (urgency: Urgency, line: Int)?
        for index in lines.indices {
            guard let urgency = lines[index].first?.urgency else { continue }
            if let first, urgency < first.urgency { continue }
            first = (urgency, index)
        }
        guard let first else { return nil }
        begun += 1
        return lines[first.line].popFirst()?.element
    }
}
