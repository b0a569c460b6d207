#if Tools
import Foundation
import HTTPTypes
import Hummingbird

/// A JSON body with what a cache needs to keep it.
struct Representation {
    let body: Data
    let lastModified: Date
    var headers: HTTPFields = [:]

    /// The body, or 304 to a client that has it.
    func response(to request: Request) -> Response {
        let tag = EntityTag(of: body)
        let fields = headers + cachingFields(tag)
        guard !Preconditions(request.headers).isUnchanged(tag, lastModified) else {
            return Response(status: .notModified, headers: fields)
        }
        return Response(status: .ok, headers: fields, json: body)
    }

    private func cachingFields(_ tag: EntityTag) -> HTTPFields {
        [.cacheControl: "max-age=60", .eTag: tag.text, .lastModified: HTTPDate.text(lastModified)]
    }
}

extension Preconditions {
    init(_ fields: HTTPFields) {
        self.init(
            ifMatch: fields[.ifMatch],
            ifNoneMatch: fields[.ifNoneMatch],
            ifModifiedSince: fields[.ifModifiedSince]
        )
    }
}
#endif
