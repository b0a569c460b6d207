#if Tools
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// `/wire/headers`, header fields that are easily lost, and `/wire/vary`, a response that depends on one.
struct FieldRoutes: Sendable {
    func add(to wire: RouterGroup<SampleContext>) {
        wire.get("headers", use: headers)
        wire.get("vary", use: vary)
    }

    @Sendable private func headers(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        try await context.channel.eventLoop.submit { [channel = context.channel] in
            try channel.pipeline.syncOperations.addHandler(LatinField("X-Latin"), position: .first)
        }.get()
        var fields = HTTPFields()
        for value in ["one", "two"] { fields.append(HTTPField(name: .known("X-Repeat"), value: value)) }
        for value in ["a=1; Path=/", "b=2; Path=/wire"] { fields.append(HTTPField(name: .setCookie, value: value)) }
        fields[.known("X-Name")] = "Zürich"
        fields[.known("X-Latin")] = "Zürich"
        return try Response(headers: fields, json: [String: String]())
    }

    @Sendable private func vary(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let greetings = ["de": "Guten Tag", "en": "Good day", "fr": "Bonjour"]
        let wanted = request.headers[.acceptLanguage]?.prefix(2).lowercased() ?? "en"
        let language = greetings[wanted] == nil ? "en" : wanted
        let body = try JSON.encode(["language": language, "greeting": greetings[language]])
        return Representation(
            body: body,
            lastModified: Date(timeIntervalSince1970: 1_767_225_600),
            headers: [.vary: "Accept-Language", .contentLanguage: language]
        ).response(to: request)
    }
}
#endif
