/// One figure that this program can measure.
struct Benchmark: Sendable {
    let name: String
    /// How it is measured, in one line.
    let method: String
    let unit: String
    let target: Target
    let measure: @Sendable () async throws -> Double

    /// What the figure has to be.
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

    static let all = [diskGet] + transfers + handedTransfers + sessions + engines + keys

    func run() async throws -> Figure {
        let value = try await measure()
        let isMet = target.isMet(by: value)
        return Figure(name: name, value: value, unit: unit, target: "\(target)", isMet: isMet, method: method)
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
