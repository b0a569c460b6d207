#if Tools
import HTTPTypes
import Hummingbird

/// `/wire`: what a transport has to get right, one route for each.
struct WireRoutes: Sendable {
    func add(to router: Router<SampleContext>) {
        let wire = router.group("wire")
        BytesRoute().add(to: wire)
        SlowRoute().add(to: wire)
        UploadRoute().add(to: wire)
        EchoRoute().add(to: wire)
        FieldRoutes().add(to: wire)
        StatusRoutes().add(to: wire)
        GzipRoute().add(to: wire)
        BrokenRoutes().add(to: wire)
        HangRoutes().add(to: wire)
        CountRoute().add(to: wire)
    }
}

extension RouterGroup<SampleContext> {
    /// The same under every method; HEAD comes with GET.
    func any(_ path: RouterPath, use respond: @Sendable @escaping (Request, SampleContext) async throws -> Response) {
        for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete, .options, .trace, .query] {
            on(path, method: method, use: respond)
        }
    }
}
#endif
