import Foundation

/// JSON texts of a shape that is usual in benchmarks. Each is made anew, always with the same bytes.
enum SampleText: String, CaseIterable {
    /// 10,000 objects with seven members, without white space: 1.6 MB.
    case objects
    /// The shape of twitter.json: 100 statuses with many members, half of the text in Japanese, indented.
    case statuses
    /// The shape of citm_catalog.json: large objects with numbers as names, and lists of small objects, indented.
    case catalog

    var description: String {
        switch self {
        case .objects: "1.6 MB of 10,000 objects with seven members"
        case .statuses: "0.4 MB of the shape of twitter.json"
        case .catalog: "1.8 MB of the shape of citm_catalog.json"
        }
    }

    var bytes: Data {
        switch self {
        case .objects: Data("[\((0..<10_000).map(Self.object).joined(separator: ","))]".utf8)
        case .statuses: Self.indented(["statuses": (0..<100).map { Self.status($0, isOriginal: $0 % 3 == 0) }], by: 2)
        case .catalog: Self.indented(Self.bookings, by: 4)
        }
    }

    private static func object(_ index: Int) -> String {
        """
        {"id":\(100_000 + index),"name":"Object number \(index)","email":"object.\(index)@example.com",\
        "score":\(Double(index * 37 % 9973) / 8),"isActive":\(index % 2 == 0),\
        "city":"\(["Zürich", "Bern", "Basel"][index % 3])","updatedAt":"2026-01-\(10 + index % 20)T12:00:00Z"}
        """
    }

    // MARK: Statuses

    private static let words = ["今日は", "名前:", "前田あゆみ", "よろしく", "RT @aym0566x: ", "第一印象", "http://t.co/", "\"", "\n"]

    private static func text(_ seed: Int, words count: Int) -> String {
        (0..<count).map { words[(seed * 7 + $0 * $0 + $0) % words.count] }.joined()
    }

    private static func status(_ seed: Int, isOriginal: Bool) -> [String: Any] {
        let id = 505_874_924_095_815_681 - seed * 1_234_567
        let mention: [String: Any] = [
            "screen_name": "aym0566x", "name": text(seed, words: 1), "id": 866_260_188 + seed,
            "id_str": "\(866_260_188 + seed)", "indices": [3, 12],
        ]
        var status: [String: Any] = [
            "metadata": ["result_type": "recent", "iso_language_code": "ja"],
            "created_at": "Sun Aug 31 00:29:15 +0000 2014", "id": id, "id_str": "\(id)", "text": text(seed, words: 14),
            "source": "<a href=\"http://twitter.com/download/iphone\" rel=\"nofollow\">Twitter for iPhone</a>",
            "truncated": false, "in_reply_to_status_id": NSNull(), "in_reply_to_user_id": NSNull(),
            "user": user(seed), "geo": NSNull(), "coordinates": NSNull(), "place": NSNull(),
            "contributors": NSNull(), "retweet_count": seed, "favorite_count": 0, "favorited": false,
            "retweeted": false, "lang": "ja",
            "entities": ["hashtags": [Any](), "symbols": [Any](), "urls": [Any](), "user_mentions": [mention]],
        ]
        if !isOriginal { status["retweeted_status"] = self.status(seed + 1000, isOriginal: true) }
        return status
    }

    private static func user(_ seed: Int) -> [String: Any] {
        var user: [String: Any] = [
            "id": 1_186_275_104 + seed, "id_str": "\(1_186_275_104 + seed)", "name": text(seed, words: 2),
            "screen_name": "ayuu0123", "location": "", "description": text(seed + 3, words: 10), "url": NSNull(),
            "entities": ["description": ["urls": [Any]()]], "followers_count": 262, "friends_count": 252,
            "listed_count": 0, "created_at": "Sat Feb 16 13:40:25 +0000 2013", "favourites_count": 235,
            "utc_offset": NSNull(), "time_zone": NSNull(), "statuses_count": 1769, "lang": "en",
        ]
        for name in ["protected", "verified", "geo_enabled", "contributors_enabled", "is_translator", "following"] {
            user[name] = false
        }
        for name in ["background_color", "link_color", "sidebar_border_color", "text_color"] {
            user["profile_\(name)"] = "C0DEED"
        }
        for name in ["background_image_url", "background_image_url_https", "image_url", "banner_url"] {
            user["profile_\(name)"] = "http://abs.twimg.com/images/themes/theme1/bg.png"
        }
        return user
    }

    // MARK: A catalog

    private static var bookings: [String: Any] {
        let performances = (0..<243).map(performance)
        let events = (0..<184).map { ("\(138_586_341 + $0 * 7)", event($0)) }
        let areas = (0..<17).map { ("\(205_705_993 + $0)", "Arrière-scène central \($0)") }
        return [
            "areaNames": Dictionary(uniqueKeysWithValues: areas), "events": Dictionary(uniqueKeysWithValues: events),
            "performances": performances, "venueNames": ["PLEYEL_PLEYEL": "Salle Pleyel"],
        ]
    }

    private static func event(_ index: Int) -> [String: Any] {
        [
            "description": NSNull(), "id": 138_586_341 + index * 7, "logo": NSNull(), "name": "Concert \(index)",
            "subTopicIds": [337_184_269, 337_184_283], "subjectCode": NSNull(), "subtitle": NSNull(),
            "topicIds": [324_846_099, 107_888_604],
        ]
    }

    private static func performance(_ index: Int) -> [String: Any] {
        let prices = (0..<5).map {
            ["amount": 90_250 + $0 * 500, "audienceSubCategoryId": 337_100_890, "seatCategoryId": 338_937_295 + $0]
        }
        let categories: [[String: Any]] = (0..<5).map { category in
            [
                "areas": (0..<7).map { ["areaId": 205_705_993 + $0, "blockIds": [Any]()] as [String: Any] },
                "seatCategoryId": 338_937_295 + category,
            ]
        }
        return [
            "eventId": 138_586_341 + index, "id": 339_887_544 + index, "logo": NSNull(), "name": NSNull(),
            "prices": prices, "seatCategories": categories, "seatMapImage": NSNull(),
            "start": 1_372_701_600_000 + index * 86_400_000, "venueCode": "PLEYEL_PLEYEL",
        ]
    }

    // MARK: Indentation

    private static func indented(_ value: Any, by width: Int) -> Data {
        var text = ""
        write(value, indent: 0, width, to: &text)
        return Data(text.utf8)
    }

    private static func write(_ value: Any, indent: Int, _ width: Int, to text: inout String) {
        let line = "\n" + String(repeating: " ", count: indent + width)
        switch value {
        case let members as [String: Any] where !members.isEmpty:
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                text += (index == 0 ? "{" : ",") + line + "\"\(member.key)\": "
                write(member.value, indent: indent + width, width, to: &text)
            }
            text += line.dropLast(width) + "}"
        case let values as [Any] where !values.isEmpty:
            for (index, value) in values.enumerated() {
                text += (index == 0 ? "[" : ",") + line
                write(value, indent: indent + width, width, to: &text)
            }
            text += line.dropLast(width) + "]"
        case is [String: Any]: text += "{}"
        case is [Any]: text += "[]"
        case is NSNull: text += "null"
        case let string as String:
            let escaped = string.replacing("\"", with: "\\\"").replacing("\n", with: "\\n").replacing("/", with: "\\/")
            text += "\"\(escaped)\""
        default: text += "\(value)"
        }
    }
}
