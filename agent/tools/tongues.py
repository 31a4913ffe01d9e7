"""What people call what tools do, in words of six languages beside the words of our tools.

Only signs for a search: a word that is found in a query adds the words of its row.
"""

from collections.abc import Iterator

from agent.memory.text import normalise

# The words of our tools; then English, German and Spanish; then Chinese, Japanese and Korean
_ROWS = (
    (
        "reflex rule board",
        "automat itself regel selbst regla automátic",
        "规则 自动 ルール 規則 自動 규칙 자동",
    ),
    (
        "watch tell owner",
        "notify alert alarm warn inform benachrichtig melde bescheid überwach avisa avísame vigil",
        "通知 提醒 告诉我 监视 监控 知らせ 監視 알려 감시 알림",
    ),
    (
        "memory remember",
        "gedächtnis erinner merke memoria recuerd",
        "记忆 记住 记得 記憶 覚え 기억",
    ),
    ("forget delete memory", "vergiss vergessen olvid", "忘记 忘掉 忘れ 잊어"),
    ("delete remove", "erase lösch entfern borra elimina", "删除 移除 削除 消し 삭제 지워 제거"),
    ("list", "show overview zeig liste übersicht muestra", "列出 显示 列表 一覧 表示 목록 보여"),
    ("stop pause", "suspend anhalt pausier detén pausa", "停止 暂停 止め 中断 멈춰 중지"),
    ("temperature", "thermometer celsius warm temperatur", "温度 気温 온도"),
    ("humidity climate", "moist feucht humedad", "湿度 습도"),
    ("pressure climate", "druck presión", "气压 压力 気圧 기압"),
    ("servo angle", "winkel stellmotor ángulo", "舵机 角度 サーボ 서보 각도"),
    (
        "pwm duty share on-time",
        "bright speed helligkeit drehzahl brillo velocidad",
        "亮度 速度 调光 明るさ 밝기 속도",
    ),
    ("pixels colour", "color neopixel farbe", "颜色 彩灯 灯带 色 색"),
    ("counter count pulses", "impuls zähl contador pulso", "计数 脉冲 カウント パルス 카운트 펄스"),
    (
        "encoder position rotary",
        "knob drehgeber drehknopf perilla",
        "编码器 旋钮 エンコーダ 엔코더",
    ),
    ("uart text device", "serial seriell serie", "串口 シリアル 시리얼"),
    ("i2c bus", "adress escanea", "总线 バス 버스"),
    ("supply voltage", "batter akku spannung voltaje", "电压 电池 電圧 電池 전압 배터리"),
    (
        "datasheet documents search",
        "manual datenblatt handbuch dokument documento",
        "数据手册 文档 手册 データシート 資料 데이터시트 문서",
    ),
    ("memory source who said", "quelle gesagt fuente quién", "来源 谁说 出典 誰が 출처 누가"),
    ("file write", "save datei schreib archivo escrib guarda", "文件 保存 ファイル 파일 저장"),
    ("system", "gerät zustand sistema estado", "系统 状态 システム 状態 시스템 상태"),
)


def words_for(query: str) -> Iterator[str]:
    """The words of our tools for what is said in a query, in whichever of the languages.

    A word may stand inside a compound, as "feucht" in "Luftfeuchtigkeit".
    """
    said = normalise(query)
    for ours, alphabetic, others in _ROWS:
        if any(word in said for word in (*alphabetic.split(), *others.split())):
            yield from ours.split()
