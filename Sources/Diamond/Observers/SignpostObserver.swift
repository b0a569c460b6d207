#if canImport(os)
import Foundation
import HTTPTypes
import os

/// An observer that draws an engine's activity as intervals in Instruments. Apple platforms only.
public struct SignpostObserver: ActivityObserver {
    private let log: OSLog

    /// Creates an observer.
    ///
    /// - Parameter subsystem: the subsystem under which Instruments shows the intervals, in the category `Activity`.
    public init(subsystem: String = "Diamond") { log = OSLog(subsystem: subsystem, category: "Activity") }

    public func receive(_ event: ActivityEvent) {
        switch event {
        case .began(let interval):
            let text = "\(interval.method.rawValue) \(interval.url)" as NSString
            os_signpost(
                .begin, log: log, name: interval.kind.signpost, signpostID: interval.id.signpost, "%{public}@", text)
        case .ended(let interval, let outcome):
            let text = (outcome.error ?? outcome.status.map { String($0.code) } ?? "") as NSString
            os_signpost(
                .end, log: log, name: interval.kind.signpost, signpostID: interval.id.signpost, "%{public}@", text)
        default: break
        }
    }
}

extension ActivityInterval.ID {
    fileprivate var signpost: OSSignpostID { OSSignpostID(UInt64(number)) }
}

extension ActivityInterval.Kind {
    fileprivate var signpost: StaticString {
        switch name {
        case .request: "request"
        case .queue: "queue"
        case .attempt: "attempt"
        case .backoff: "backoff"
        case .pause: "pause"
        case .refresh: "refresh"
        }
    }
}
#endif
