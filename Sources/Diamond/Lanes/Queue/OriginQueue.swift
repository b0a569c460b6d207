/// What waits for one origin in one lane: a line for each priority that somebody has there.
struct FlightLines {
    private var lines: [(priority: FlightPriority, line: FlightLine)] = []

    mutating func append(_ number: SlotNumber, _ priority: FlightPriority) {
        if let index = index(of: priority) { return lines[index].line.append(number) }
        var line = FlightLine()
        line.append(number)
        lines.append((priority, line))
    }

    mutating func remove(_ number: SlotNumber, _ priority: FlightPriority) {
        guard let index = index(of: priority) else { return }
        lines[index].line.remove(number)
        if lines[index].line.isEmpty { lines.remove(at: index) }
    }

    private func index(of priority: FlightPriority) -> Int? { lines.firstIndex { $0.priority == priority } }

    /// The most urgent of those that are first in their lines.
    func first<Who>(in waiters: SlotMap<FlightWaiter<Who>>) -> FlightHead? {
        var first: FlightHead?
        for number in lines.lazy.compactMap(\.line.first) {
            guard let urgency = waiters[number]?.urgency else { continue }
            let head = FlightHead(urgency: urgency, number: number)
            first = first.map { max($0, head) } ?? head
        }
        return first
    }
}
