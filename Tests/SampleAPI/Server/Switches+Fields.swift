#if Tools
import Foundation
import HTTPTypes
import Hummingbird

extension Switches {
    /// Without its conditions, when the response is to have no validators: it must not be answered with 304.
    func applied(to request: Request) -> Request {
        guard noValidators else { return request }
        var head = request.head
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .ifRange] {
            head.headerFields[name] = nil
        }
        return Request(head: head, body: request.body)
    }

    func apply(to response: inout Response) {
        if let cacheControl { response.headers[.cacheControl] = cacheControl }
        if noValidators {
            response.headers[.eTag] = nil
            response.headers[.lastModified] = nil
        }
        if let bodyDelay { response.body = response.body.paced(by: bodyDelay) }
    }
}

extension Arguments {
    /// The query's parameters, then the switches among the header fields, named as the query names them.
    init(query: String?, fields: HTTPFields) {
        let inQuery = Arguments(query: query).remaining
        let inFields = fields.compactMap(Argument.init(switchField:))
        self.init(inQuery + inFields.filter { field in !inQuery.contains { $0.name == field.name } })
    }
}

extension Arguments.Argument {
    /// `X-Sample-Body-Delay` is `_bodyDelay`.
    init?(switchField field: HTTPField) {
        let name = field.name.canonicalName
        guard name.hasPrefix("x-sample-") else { return nil }
        let words = name.dropFirst("x-sample-".count).split(separator: "-")
        self.init(
            name: "_" + words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined(), value: field.value
        )
    }
}
#endif
