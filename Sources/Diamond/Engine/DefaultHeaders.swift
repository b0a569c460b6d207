import Foundation
import HTTPTypes

/// The headers that describe the user and the program, for engines that are given none.
enum DefaultHeaders {
    static var platform: HTTPFields {
        var headers: HTTPFields = [.userAgent: userAgent]
        if let languages = acceptLanguage(preferredLanguages) { headers[.acceptLanguage] = languages }
        return headers
    }

    // MARK: Accept-Language

    /// The languages in order, six at most, each a tenth less preferred than the one before (RFC 9110 section 12.5.4).
    ///
    /// - Parameter languages: tags such as `de-CH` (BCP 47); what is none is left out.
    /// - Returns: `nil` where there is none.
    static func acceptLanguage(_ languages: [String]) -> String? {
        var known: Set<String> = []
        let tags = languages.filter { isTag($0) && known.insert($0.lowercased()).inserted }.prefix(6)
        let ranges = tags.enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }
        return ranges.isEmpty ? nil : ranges.joined(separator: ", ")
    }

    /// Whether a text is a language range (RFC 4647 section 2.1).
    private static func isTag(_ text: String) -> Bool {
        text.wholeMatch(of: #/[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*/#) != nil
    }

    private static var preferredLanguages: [String] {
        #if canImport(Darwin)
        Locale.preferredLanguages
        #else
        // Foundation says "en-001" here, whatever the environment says.
        languages(of: ProcessInfo.processInfo.environment)
        #endif
    }

    /// The languages that an environment asks for: by `LC_ALL`, `LC_MESSAGES` and `LANG` (POSIX, XBD section 8.2), and, if
    /// these name any, the list of `LANGUAGE` (GNU gettext manual, section 2.3.3).
    static func languages(of environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        guard let locale, let language = tag(of: locale) else { return [] }
        let list = environment["LANGUAGE"]?.split(separator: ":").compactMap(tag) ?? []
        return list.isEmpty ? [language] : list
    }

    /// `de-CH` of `de_CH.UTF-8@euro`; `nil` for the locale that speaks no language.
    private static func tag(of locale: some StringProtocol) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        return ["", "C", "POSIX"].contains(name) ? nil : String(name).replacing("_", with: "-")
    }

    // MARK: User-Agent

    private static var userAgent: String {
        let facts = Bundle.main.infoDictionary ?? [:]
        let name = facts["CFBundleName"] as? String ?? ProcessInfo.processInfo.processName
        return userAgent(name, version: facts["CFBundleShortVersionString"] as? String)
    }

    /// The program and what it sends with (RFC 9110 section 10.1.5).
    static func userAgent(_ name: String, version: String?) -> String {
        let (name, version) = (token(name), version.map(token) ?? "")
        return name.isEmpty ? "Diamond" : name + (version.isEmpty ? "" : "/" + version) + " Diamond"
    }

    /// With `-` for what a token cannot hold (RFC 9110 section 5.6.2).
    private static func token(_ text: String) -> String {
        let parts = text.unicodeScalars.split { !$0.isASCII || !isTokenByte(UInt8(truncatingIfNeeded: $0.value)) }
        return parts.map { String($0) }.joined(separator: "-")
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        "!#$%&'*+-.^_`|~".utf8.contains(byte) || Character(Unicode.Scalar(byte)).isLetter
            || Character(Unicode.Scalar(byte)).isNumber
    }
}
