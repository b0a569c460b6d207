#if Tracing
import DiamondSQLite
import HTTPTypes
public import Tracing

/// An observer that makes spans of an engine's activity for swift-distributed-tracing. Needs the package's trait
/// `Tracing`.
///
/// A connection, or a call that contacts a server, is a span. Its attempts are child spans, and its waits are events of
/// the span. Names follow OpenTelemetry's conventions for HTTP clients. The parent of a request's span is the span of
/// the task that starts or sends it. If several requests share an attempt, its parent is the first of them.
///
/// The context of a span is not sent to the server: no `traceparent` field is added.
public final class TracingObserver: ActivityObserver {
    private let tracer: any Tracer
    private let spans = Guarded<[ActivityInterval.ID: any Span]>([:])

    /// Creates an observer.
    ///
    /// - Parameter tracer: the tracer; `nil` for the process's `InstrumentationSystem.tracer`.
    public init(tracer: (any Tracer)? = nil) { self.tracer = tracer ?? InstrumentationSystem.tracer }

    public func receive(_ event: ActivityEvent) {
        switch event {
        case .began(let interval): begin(interval)
        case .ended(let interval, let outcome): end(interval, outcome: outcome)
        default: break
        }
    }

    private func begin(_ interval: ActivityInterval) {
        let parent = interval.parent.flatMap { parent in spans.withLock { $0[parent] } }
        guard [.request, .refresh, .attempt].contains(interval.kind) else {
            parent?.addEvent(SpanEvent(name: interval.kind.description))
            return
        }
        let span = start(interval, parent: parent)
        span.attributes.merge(interval.attributes)
        spans.withLock { $0[interval.id] = span }
    }

    private func start(_ interval: ActivityInterval, parent: (any Span)?) -> any Span {
        let method = interval.knownMethod == "_OTHER" ? "HTTP" : interval.knownMethod
        guard interval.kind == .attempt else { return tracer.startAnySpan("\(interval.kind) \(method)") }
        guard let parent else { return tracer.startAnySpan(method, ofKind: .client) }
        return tracer.startAnySpan(method, context: parent.context, ofKind: .client)
    }

    private func end(_ interval: ActivityInterval, outcome: ActivityOutcome) {
        guard let span = spans.withLock({ $0.removeValue(forKey: interval.id) }) else { return }
        if let status = outcome.status { span.attributes["http.response.status_code"] = status.code }
        if let source = outcome.source { span.attributes["diamond.source"] = source.rawValue }
        if let error = outcome.errorType {
            span.attributes["error.type"] = error
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
    }
}

extension ActivityInterval {
    fileprivate var attributes: SpanAttributes {
        var attributes: SpanAttributes = [:]
        attributes["http.request.method"] = knownMethod
        if knownMethod == "_OTHER" { attributes["http.request.method_original"] = method.rawValue }
        attributes["url.full"] = url
        attributes["server.address"] = server.address
        if let port = server.port ?? defaultPort { attributes["server.port"] = port }
        if let attempt, attempt > 1 { attributes["http.request.resend_count"] = attempt - 1 }
        attributes["diamond.lane"] = lane.name
        if !tags.isEmpty { attributes["diamond.tags"] = tags.sorted() }
        return attributes
    }

    private var defaultPort: Int? {
        if origin.hasPrefix("https:") { return 443 }
        return origin.hasPrefix("http:") ? 80 : nil
    }
}
#endif
