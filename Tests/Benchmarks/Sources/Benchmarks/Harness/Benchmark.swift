/// One figure that this program can measure.
struct Benchmark: Sendable {
    let name: String
    /// The method of measurement, in one line.
    let method: String
    let unit: String
    let target: Target
    /// Whether it takes minutes, or much of the disk or the network. It then runs only by name or with `--all`.
    let isLong: Bool
    let measure: @Sendable () async throws -> Measurement

    /// The condition that the figure has to meet.
    enum Target: Sendable {
        case atMost(Double)
        case atLeast(Double)

        func isMet(by value: Double) -> Bool {
            switch self {
            case .atMost(let limit): value <= limit
            case .atLeast(let limit): value >= limit
            }
        }
    }

    /// A figure, with lines of notes.
    struct Measurement: Sendable {
        var value: Double
        var notes: [String] = []
    }

    init(
        name: String,
        method: String,
        unit: String,
        target: Target,
        isLong: Bool = false,
        measuring measure: @escaping @Sendable () async throws -> Measurement
    ) {
        self.name = name
        self.method = method
        self.unit = unit
        self.target = target
        self.isLong = isLong
        self.measure = measure
    }

    init(
        name: String,
        method: String,
        unit: String,
        target: Target,
        isLong: Bool = false,
        measure: @escaping @Sendable () async throws -> Double
    ) {
        self.init(name: name, method: method, unit: unit, target: target, isLong: isLong) {
            Measurement(value: try await measure())
        }
    }

    static let all =
        diskGets + uncheckedDiskGets + stores + memoryHits + [eviction] + pauses + readers + millions + growth + sealed
        + bodies + compressed + queues + queuePeers + transfers + handedTransfers + sessions + appRequests + engines
        + firstRequests + [latency] + operations + keys + texts + models + modelPeers + collections + proxyHits
        + pythonPeers

    func run() async throws -> Figure {
        let measured = try await measure()
        return Figure(
            name: name,
            value: measured.value,
            unit: unit,
            target: "\(target)",
            isMet: target.isMet(by: measured.value),
            method: method,
            notes: measured.notes
        )
    }
}

extension Benchmark.Target: CustomStringConvertible {
    var description: String {
        switch self {
        case .atMost(let limit): "<=\(limit)"
        case .atLeast(let limit): ">=\(limit)"
        }
    }
}
