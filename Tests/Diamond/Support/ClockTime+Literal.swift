@testable import Diamond

// In tests, a literal is a time of any clock.

extension WallTime: ExpressibleByIntegerLiteral {
    package init(integerLiteral milliseconds: Int64) { self.init(rawValue: milliseconds) }
}

extension Uptime: ExpressibleByIntegerLiteral {
    package init(integerLiteral milliseconds: Int64) { self.init(rawValue: milliseconds) }
}

extension QueueTime: ExpressibleByIntegerLiteral {
    package init(integerLiteral milliseconds: Int64) { self.init(rawValue: milliseconds) }
}

extension LogPosition: ExpressibleByIntegerLiteral {
    package init(integerLiteral count: Int) { self.init(count: count) }
}

extension EngineTime: ExpressibleByIntegerLiteral {
    package init(integerLiteral milliseconds: Int64) { self.init(rawValue: milliseconds) }
}
